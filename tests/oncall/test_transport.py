"""The file queue: messages are whole or not there, and nothing that is in the folder can stop a worker."""

import threading
from pathlib import Path

import pytest
from kombu import Connection, Exchange, Queue

from oncall import transport


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    transport.register()
    # kombu remembers bindings for the whole process, and would not write them into this test's folder.
    transport.Transport.global_state.clear()
    folder = str(tmp_path / "messages")
    return Connection(
        f"{transport.SCHEME}://localhost",
        transport_options={
            "data_folder_in": folder,
            "data_folder_out": folder,
            "control_folder": str(tmp_path / "control"),
        },
    )


def _queue(name: str) -> Queue:
    return Queue(name, Exchange(name, type="direct"), routing_key=name)


def _drain(connection: Connection, name: str) -> list[object]:
    found = []
    simple = connection.SimpleQueue(_queue(name))
    while True:
        try:
            message = simple.get(block=False)
        except simple.Empty:
            return found
        found.append(message.payload)
        message.ack()


def test_messages_come_in_order_and_leave_nothing_behind(connection: Connection, tmp_path: Path) -> None:
    simple = connection.SimpleQueue(_queue("quick"))
    for number in range(20):
        simple.put({"number": number})

    assert [message["number"] for message in _drain(connection, "quick")] == list(range(20))
    assert [path for path in tmp_path.rglob("*") if path.suffix in (".msg", ".tmp")] == []


def test_queues_do_not_see_each_others_messages(connection: Connection) -> None:
    connection.SimpleQueue(_queue("quick")).put({"for": "quick"})
    connection.SimpleQueue(_queue("investigate")).put({"for": "investigate"})

    assert _drain(connection, "quick") == [{"for": "quick"}]
    assert _drain(connection, "investigate") == [{"for": "investigate"}]


def test_a_half_written_message_is_set_aside(connection: Connection, tmp_path: Path) -> None:
    simple = connection.SimpleQueue(_queue("quick"))
    (tmp_path / "messages" / "1_half.quick.msg").write_text('{"body": "eyJ')
    simple.put({"number": 1})

    assert _drain(connection, "quick") == [{"number": 1}]
    assert [path.name for path in (tmp_path / "unreadable").iterdir()] == ["1_half.quick.msg"]


@pytest.mark.parametrize(
    "text",
    ["[]", "5", "null", "{}", '{"body": "e30=", "properties": {}}', '{"body": "", "properties": 1}', "[" * 200_000],
    ids=["list", "number", "null", "empty", "without-delivery", "wrong-kind", "deep"],
)
def test_what_is_no_message_is_set_aside(connection: Connection, tmp_path: Path, text: str) -> None:
    simple = connection.SimpleQueue(_queue("quick"))
    (tmp_path / "messages" / "1_odd.quick.msg").write_text(text)
    simple.put({"number": 1})

    assert _drain(connection, "quick") == [{"number": 1}]
    assert [path.name for path in (tmp_path / "unreadable").iterdir()] == ["1_odd.quick.msg"]


def test_what_is_no_file_is_set_aside(connection: Connection, tmp_path: Path) -> None:
    simple = connection.SimpleQueue(_queue("quick"))
    (tmp_path / "messages" / "1_folder.quick.msg").mkdir()
    (tmp_path / "messages" / "2_link.quick.msg").symlink_to(tmp_path / "nowhere")
    simple.put({"number": 1})

    assert _drain(connection, "quick") == [{"number": 1}]
    assert len(list((tmp_path / "unreadable").iterdir())) == 2


def test_each_message_is_given_once_to_many_readers(connection: Connection, tmp_path: Path) -> None:
    simple = connection.SimpleQueue(_queue("quick"))
    for number in range(60):
        simple.put({"number": number})
    found: list[int] = []

    def read() -> None:
        with connection.clone() as own:
            found.extend(message["number"] for message in _drain(own, "quick"))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()

    assert sorted(found) == list(range(60))
