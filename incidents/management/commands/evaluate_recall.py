"""Measure recall and the relevance gate on labelled memories and queries."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from incidents.memory import evaluation
from incidents.services.evaluation import Evaluation, scratch_database
from oncall.clients.embedded.memory import EmbeddedMemory
from oncall.clients.hindsight import HindsightMemory
from oncall.clients.memory import Memory, MemoryFailure

NAMES = {
    "hit@1": "relevant memory first, before the gate",
    "hit@3": "among the first three, before the gate",
    "mrr": "mean reciprocal rank, before the gate",
    "accepted_hit@3": "answerable: a relevant memory among the accepted three",
    "false_match": "unanswerable: something was accepted",
    "close_hit": "answerable: a relevant memory accepted as close",
    "false_close": "unanswerable: something was called close",
}


class Command(BaseCommand):
    help = (
        "Load the memories into a scratch bank, which is thrown away, run each query through the recall and the gate "
        "of investigations, and print what was found and how often the wrong thing was accepted, with 95 % bootstrap "
        "intervals. Both files hold one JSON object a line. A memory: id, title, symptom, cause, fix, service. A "
        "query: id, text, relevant (ids that answer it), also_ok (ids that are neutral), kind."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("memories", type=Path, metavar="MEMORIES")
        parser.add_argument("queries", type=Path, metavar="QUERIES")
        parser.add_argument("--memory", choices=["embedded", "hindsight"], default="embedded")
        parser.add_argument("--judge", action="store_true", help="let whole investigations by the model decide")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["judge"] and settings.LLM != "groq":
            raise CommandError("No language model is configured (GROQ_API_KEY), so that there is none to judge.")
        try:
            memories = evaluation.read_memories(options["memories"])
            queries = evaluation.read_queries(options["queries"], (memory.id for memory in memories))
        except evaluation.BadFile as error:
            raise CommandError(str(error)) from None
        if not queries:
            raise CommandError(f"{options['queries']} holds no query.")
        server = _server(options["memory"])
        with scratch_database():
            scratch = Evaluation(server, self._progress)
            try:
                scratch.load(memories)
                results = scratch.run(queries, judge=options["judge"])
            except MemoryFailure as failure:
                raise CommandError(str(failure)) from None
            finally:
                scratch.throw_away()
        measured = evaluation.measure(results)
        if options["json"]:
            kinds = evaluation.by_kind(results)
            about = {"memories": len(memories), "queries": len(queries), "memory": options["memory"]}
            self.stdout.write(json.dumps({**measured, **about, "by_kind": kinds}, indent=2))
            return
        self.stdout.write(f"{len(memories)} memories, {len(queries)} queries, {options['memory']} memory")
        self._print(measured)
        for kind, of_kind in evaluation.by_kind(results).items():
            self.stdout.write(f"\n{kind or 'no kind'}")
            self._print(of_kind)

    def _print(self, measured: dict[str, Any]) -> None:
        for name, words in NAMES.items():
            found = measured[name]
            if found:
                interval = f"{found['low']:.2f} to {found['high']:.2f}"
                self.stdout.write(f"  {name:<15} {found['value']:.3f}  ({interval})  {words}")
        self.stdout.write(f"  latency         p50 {measured['latency_p50_ms']} ms, p95 {measured['latency_p95_ms']} ms")

    def _progress(self, what: str, done: int, of: int) -> None:
        if self.stderr.isatty() and (done == of or done % 20 == 0):
            self.stderr.write(f"\r{done} of {of} {what}", ending="\n" if done == of else "")


def _server(name: str) -> Memory:
    if name == "embedded":
        return EmbeddedMemory()
    if not settings.HINDSIGHT_URL:
        raise CommandError("HINDSIGHT_URL is not set.")
    return HindsightMemory(settings.HINDSIGHT_URL, settings.HINDSIGHT_API_KEY)
