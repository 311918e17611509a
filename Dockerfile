# Two stages: packages are built in the first, and only what runs is in the second.
FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.txt .
RUN python -m venv /venv && /venv/bin/pip install -r requirements.txt

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ONCALL_STATIC_ROOT=/app/staticfiles
RUN useradd --system --uid 10001 --no-create-home oncall
COPY --from=build /venv /venv
WORKDIR /app
COPY . .
# Settings are checked at start, so that collecting static files needs values too; none of these is used again.
RUN ONCALL_SECRET_KEY=build ONCALL_ALLOWED_HOSTS=build DATABASE_URL=postgres://build@build/build \
    REDIS_URL=redis://build ONCALL_LLM=offline ONCALL_MEMORY=off python manage.py collectstatic --noinput
USER oncall
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
    ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["gunicorn", "oncall.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8", "--worker-tmp-dir", "/dev/shm"]
