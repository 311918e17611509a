"""The one settings file. Everything comes from the environment and is checked at start.

Two profiles: ``production`` (the default: nothing is assumed, every outside service must be said) and ``local``
(set by ``make run``: everything lives under ``.data/`` and needs nothing installed). ``docs/settings.md`` lists
every variable.
"""

from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from oncall import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
PROFILE = env.choice("ONCALL_PROFILE", ("production", "local"), "production")
LOCAL = PROFILE == "local"
DATA_DIR = Path(env.text("ONCALL_DATA_DIR", str(BASE_DIR / ".data")))

# --- Security ---------------------------------------------------------------------------------------------------------
DEBUG = env.flag("ONCALL_DEBUG", False)
if DEBUG and not LOCAL:
    raise ImproperlyConfigured("ONCALL_DEBUG is for the local profile only.")
SECRET_KEY = (
    env.text("ONCALL_SECRET_KEY", env.secret_file(DATA_DIR / "secret_key", get_random_secret_key))
    if LOCAL
    else env.text("ONCALL_SECRET_KEY")
)
ALLOWED_HOSTS = env.words("ONCALL_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]" if LOCAL else "")
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ONCALL_ALLOWED_HOSTS is not set. See docs/settings.md.")
CSRF_FAILURE_VIEW = "oncall.kept_forms.csrf_failure"
CSRF_TRUSTED_ORIGINS = env.words("ONCALL_CSRF_TRUSTED_ORIGINS")
TRUSTED_PROXY_COUNT = env.number("ONCALL_TRUSTED_PROXY_COUNT", 0, high=10)
HTTPS = env.flag("ONCALL_HTTPS", not LOCAL)
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "oncall_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
X_FRAME_OPTIONS = "DENY"
# One megabyte of alert, and room for the form around it. A larger body is refused with 413.
ALERT_MAX_BYTES = 1_000_000
DATA_UPLOAD_MAX_MEMORY_SIZE = 3_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200

# --- Applications -----------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "oncall",
    "oncall.clients.embedded",
    "teams",
    "incidents",
    "lessons",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    # Before the static files, which the local profile serves uncompressed; collected ones come compressed and pass.
    # Against BREACH it pads each answer by a random length, and forms carry a masked token.
    "django.middleware.gzip.GZipMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "oncall.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "oncall.kept_forms.SignInFirst",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "teams.middleware.TimeZoneMiddleware",
    "teams.middleware.RefusedWrites",
]
ROOT_URLCONF = "oncall.urls"
WSGI_APPLICATION = "oncall.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "teams.context.frame",
            ],
            "builtins": ["django.templatetags.static", "oncall.templatetags.oncall"],
        },
    },
]

# --- Database ---------------------------------------------------------------------------------------------------------
DATABASE_URL = env.url("DATABASE_URL", ("postgres", "postgresql"), "") if env.text("DATABASE_URL", "") else ""
if DATABASE_URL:
    _database: dict[str, Any] = environ.Env.db_url_config(DATABASE_URL)
    _database["CONN_MAX_AGE"] = 60
    _database["CONN_HEALTH_CHECKS"] = True
elif LOCAL:
    # The owner's alone: bodies as they were received are in it.
    DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    _database = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA_DIR / "oncall.sqlite3",
        # IMMEDIATE takes the write lock at BEGIN; the default fails most read-then-write transactions under load.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # A file, so that a worker process of a test can see it.
        "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
    }
else:
    raise ImproperlyConfigured("DATABASE_URL is not set. See docs/settings.md.")
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Cache and queue --------------------------------------------------------------------------------------------------
REDIS_URL = env.url("REDIS_URL", ("redis", "rediss"), "") if LOCAL else env.url("REDIS_URL", ("redis", "rediss"))
CACHES = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        # Limits must hold across processes, which rules out a cache in one process's memory.
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "oncall_cache"}
    )
}
QUEUE_DIR = DATA_DIR / "queue"
CELERY_BROKER_URL = REDIS_URL or "oncall-files://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    # socket_timeout: without it a publish against a half-open Redis waits for ever.
    {"socket_timeout": 5, "socket_connect_timeout": 3, "socket_keepalive": True, "visibility_timeout": 1800}
    if REDIS_URL
    else {
        "data_folder_in": str(QUEUE_DIR / "messages"),
        "data_folder_out": str(QUEUE_DIR / "messages"),
        "control_folder": str(QUEUE_DIR / "control"),
        "polling_interval": 0.1,
    }
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
# Safe because each task claims its row, and the row counts attempts.
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 200
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = bool(REDIS_URL)
CELERY_TASK_DEFAULT_QUEUE = "quick"
# A slow model must never delay a retain.
CELERY_TASK_ROUTES = {"incidents.run_diagnosis": {"queue": "investigate"}}
SWEEP_SECONDS = env.number("ONCALL_SWEEP_SECONDS", 5 if LOCAL else 30, low=1, high=3600)
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "incidents.sweep", "schedule": SWEEP_SECONDS, "options": {"expires": SWEEP_SECONDS}},
}
CELERY_BEAT_SCHEDULER = "celery.beat.Scheduler"

# --- The language model -----------------------------------------------------------------------------------------------
LLM = env.choice(
    "ONCALL_LLM",
    ("groq", "offline"),
    "offline" if LOCAL and not env.text("GROQ_API_KEY", "") else ("groq" if LOCAL else None),
)
GROQ_API_KEY = env.text("GROQ_API_KEY", "")
GROQ_BASE_URL = env.url("GROQ_BASE_URL", ("http", "https"), "https://api.groq.com")
# True for a server that serves plain /v1; the SDK always adds /openai/v1.
GROQ_PLAIN_V1 = env.flag("GROQ_PLAIN_V1", False)
GROQ_MODELS = env.words("GROQ_MODELS", "openai/gpt-oss-120b,openai/gpt-oss-20b")
# Tokens a minute that the plan allows; the free plan's is 8,000.
GROQ_TPM_BUDGET = env.number("GROQ_TPM_BUDGET", 8000, low=1000)
if LLM == "groq" and not GROQ_API_KEY:
    raise ImproperlyConfigured("ONCALL_LLM is groq, so GROQ_API_KEY must be set (or set ONCALL_LLM=offline).")
if LLM == "groq" and not GROQ_MODELS:
    raise ImproperlyConfigured("GROQ_MODELS must name at least one model.")
# Under this many tokens a minute a new project starts with the guided strategy.
GUIDED_BELOW_TPM = 30_000

# --- Memory -----------------------------------------------------------------------------------------------------------
HINDSIGHT_URL = env.url("HINDSIGHT_URL", ("http", "https"), "")
HINDSIGHT_API_KEY = env.text("HINDSIGHT_API_KEY", "")
MEMORY = env.choice(
    "ONCALL_MEMORY", ("hindsight", "embedded", "off"), ("hindsight" if HINDSIGHT_URL else "embedded") if LOCAL else None
)
if MEMORY == "hindsight" and not HINDSIGHT_URL:
    raise ImproperlyConfigured("ONCALL_MEMORY is hindsight, so HINDSIGHT_URL must be set.")
if HINDSIGHT_API_KEY and not HINDSIGHT_URL:
    raise ImproperlyConfigured("HINDSIGHT_API_KEY is set without HINDSIGHT_URL.")
if HINDSIGHT_URL and MEMORY != "hindsight":
    raise ImproperlyConfigured(f"HINDSIGHT_URL is set, but ONCALL_MEMORY is {MEMORY}.")
# True when the server has a neural reranker; without one its graph and temporal retrieval bury the true match.
HINDSIGHT_RERANKER = env.flag("HINDSIGHT_RERANKER", False)

# --- Investigations ---------------------------------------------------------------------------------------------------
INVESTIGATION_MAX_STEPS = env.number("ONCALL_MAX_STEPS", 6, low=3, high=8)
INVESTIGATION_DEADLINE_SECONDS = env.number("ONCALL_DEADLINE_SECONDS", 180, low=10, high=600)
INVESTIGATION_MAX_TOKENS = env.number("ONCALL_MAX_TOKENS", 60_000, low=4000)
INVESTIGATION_WAIT_MINUTES = env.number("ONCALL_WAIT_MINUTES", 30, low=1, high=1440)
LEASE_SECONDS = 120
DELIVERY_RETENTION_DAYS = env.number("ONCALL_DELIVERY_RETENTION_DAYS", 90, low=1)

# --- Accounts ---------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "teams.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_SIGNUP_FORM_CLASS = "teams.forms.SignupForm"
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_EMAIL_SUBJECT_PREFIX = "On-Call Copilot: "
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXY_COUNT
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
EMAIL_URL = env.text("ONCALL_EMAIL_URL", "consolemail://" if LOCAL else "")
if EMAIL_URL:
    vars().update(environ.Env.email_url_config(EMAIL_URL))
else:
    # No mail server: invitation and reset links are shown to the admin who makes them.
    EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
DEFAULT_FROM_EMAIL = env.text("ONCALL_EMAIL_FROM", "On-Call Copilot <oncall@localhost>")

# --- API --------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "teams.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["oncall.parsers.JSONBody"],
    "EXCEPTION_HANDLER": "oncall.problems.handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

# --- Pages ------------------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
# The local profile serves files from where they are; whitenoise warns of a folder that was never collected.
_static_root = env.text("ONCALL_STATIC_ROOT", "" if LOCAL else str(BASE_DIR / "staticfiles"))
STATIC_ROOT = Path(_static_root) if _static_root else None
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if not LOCAL
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = LOCAL
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
FORM_RENDERER = "django.forms.renderers.DjangoTemplates"

# --- Logs -------------------------------------------------------------------------------------------------------------
LOG_LEVEL = env.choice("ONCALL_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "celery": {"level": "WARNING" if LOCAL else LOG_LEVEL},
    },
}
SILENCED_SYSTEM_CHECKS: list[str] = []
