#!/usr/bin/env python3
"""Asks the service what clients ask, with Python's own library, and says what it found; client.py build/service."""
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor


class Service:
    def __init__(self, *options):
        self.process = subprocess.Popen([sys.argv[1], "--port", "0", *options], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline()).group(1))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, method, path, body=None, connection=None):
        """Status and JSON."""
        connection = connection or self.connect()
        text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def complete(self, **options):
        status, answer = self.send("POST", "/v1/chat/completions" if "messages" in options else "/v1/completions", options)
        assert status == 200, answer
        return answer

    def stream(self, **options):
        """The pieces, as they come."""
        connection = self.connect()
        connection.request("POST", "/v1/chat/completions" if "messages" in options else "/v1/completions",
                           json.dumps(dict(options, stream=True)))
        answer = connection.getresponse()
        assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
        for line in answer:
            if line.startswith(b"data: [DONE]"):
                return
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
        raise AssertionError("no [DONE]")

    def wait_until_idle(self):
        for _ in range(100):
            health = self.send("GET", "/health")[1]
            if health["running"] == health["waiting"] == 0:
                return health
            time.sleep(0.05)
        raise AssertionError(health)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello! \u00e9\U0001f600"}]


def check_routes(service):
    assert service.send("GET", "/health")[1]["status"] == "ok"
    assert service.send("GET", "/v1/models")[1]["data"][0]["id"] == "talker"
    assert service.send("GET", "/v1/models/talker")[0] == 200
    assert service.send("GET", "/v1/models/other")[0] == 404
    assert service.send("GET", "/v1/completions")[0] == 405
    print("routes: fine")


def check_completions(service):
    answer = service.complete(prompt="The model", max_tokens=20, temperature=0, model="talker")
    text, usage = answer["choices"][0]["text"], answer["usage"]
    assert answer["object"] == "text_completion" and answer["choices"][0]["finish_reason"] == "length"
    assert usage["completion_tokens"] == 20 and usage["total_tokens"] == usage["prompt_tokens"] + 20
    pieces = list(service.stream(prompt="The model", max_tokens=20, temperature=0, stream_options={"include_usage": True}))
    assert "".join(piece["choices"][0]["text"] for piece in pieces if piece["choices"]) == text
    assert pieces[-1]["usage"] == usage and pieces[-2]["choices"][0]["finish_reason"] == "length"

    logs = service.complete(prompt="The model", max_tokens=20, temperature=0, logprobs=3)["choices"][0]["logprobs"]
    assert len(logs["tokens"]) == len(logs["text_offset"]) == 20
    assert all(abs(max(top.values()) - value) < 1e-6 for top, value in zip(logs["top_logprobs"], logs["token_logprobs"]))

    first = service.complete(prompt="The model", max_tokens=1, temperature=0, logprobs=2)["choices"][0]["logprobs"]["tokens"][0]
    biased = service.complete(prompt="The model", max_tokens=4, temperature=0, logit_bias={"40": 100, "41": -100})["choices"][0]["text"]
    assert biased == 4 * biased[0] and biased[0] != first, (biased, first)
    for prompt in ("The model", [40, 41]):
        plain, echoed = (service.complete(prompt=prompt, max_tokens=9, temperature=0, echo=echo)["choices"][0]["text"] for echo in (False, True))
        assert echoed.endswith(plain) and len(echoed) > len(plain) and (prompt not in ("The model",) or echoed == prompt + plain)
        pieces = list(service.stream(prompt=prompt, max_tokens=9, temperature=0, echo=True))
        assert "".join(piece["choices"][0]["text"] for piece in pieces) == echoed

    stop = text[8:11]
    stopped = service.complete(prompt="The model", max_tokens=20, temperature=0, stop=["<never>", stop])["choices"][0]
    assert stopped["finish_reason"] == "stop" and stopped["text"] == text[:text.index(stop)]
    print("completions: fine")


def check_chats(service):
    options = {"messages": MESSAGES, "max_tokens": 30, "temperature": 1.2, "top_p": 0.9, "seed": 5, "n": 3}
    choices = service.complete(**options)["choices"]
    assert len({choice["message"]["content"] for choice in choices}) == 3
    texts = ["", "", ""]
    for piece in service.stream(**options):
        texts[piece["choices"][0]["index"]] += piece["choices"][0]["delta"]["content"]
    assert texts == [choice["message"]["content"] for choice in choices]

    logs = service.complete(messages=MESSAGES, max_tokens=4, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]
    assert [len(token["top_logprobs"]) for token in logs["content"]] == [2] * len(logs["content"])
    plain = service.complete(messages=MESSAGES, max_tokens=5, temperature=0, tools=[], tool_choice="none", response_format={"type": "text"})
    assert plain["choices"] == service.complete(messages=MESSAGES, max_tokens=5, temperature=0)["choices"]
    print("chats: fine")


def check_formats(service):
    """Noise, but of the form that was asked for."""
    named = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {}, "strict": True}}
    for seed in range(4):
        choice = service.complete(messages=MESSAGES, max_tokens=200, temperature=1.5, seed=seed, response_format=named)["choices"][0]
        value = json.loads(choice["message"]["content"])
        assert choice["finish_reason"] == "stop" and list(value) == ["sure", "times", "words"] and 1 <= value["times"] <= 12, choice
    texts = [service.complete(prompt="a", max_tokens=30, seed=seed, response_format={"type": "json_object"})["choices"][0] for seed in range(4)]
    assert all(choice["text"][0] == "{" and (choice["finish_reason"] != "stop" or json.loads(choice["text"]) is not None) for choice in texts), texts
    print("formats: fine")


def check_parallel(service):
    requests = [{"prompt": [3 + i, 7, 9], "max_tokens": 10 + i, "seed": i} for i in range(40)]
    alone = [service.complete(**request)["choices"] for request in requests]
    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(lambda request: service.complete(**request)["choices"], requests))
    assert together == alone
    print("40 requests by 20 clients: as each alone")


def check_errors(service):
    long = {"prompt": "a b " * 1000}
    cases = [("{\"prompt\": ", 400, None), ("[]", 400, None), ("", 400, None), ({}, 400, "prompt"),
             ({"prompt": "a", "prompt2": "b"}, 400, "prompt2"), ({"prompt": "a", "top_p": 1.5}, 400, "top_p"),
             ({"prompt": "a", "temperature": "hot"}, 400, "temperature"), ({"prompt": "a", "n": 9}, 400, "n"),
             ({"prompt": [1, 560]}, 400, "prompt"), ({"prompt": [1, "a"]}, 400, "prompt"), ({"prompt": ""}, 400, "prompt"),
             ({"prompt": "a", "stop": [""]}, 400, "stop"), ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens"),
             ({"prompt": "a", "model": "gpt"}, 404, "model"), (long, 400, "prompt"),
             ({"prompt": "a", "logit_bias": {"x": 1}}, 400, "logit_bias"), ({"prompt": "a", "logit_bias": {"560": 1}}, 400, "logit_bias"),
             ({"prompt": "a", "logit_bias": {"1": 101}}, 400, "logit_bias"), ({"prompt": "a", "logit_bias": {"1": None}}, 400, "logit_bias"),
             ({"prompt": "a", "echo": True, "logprobs": 1}, 400, "echo"), ({"prompt": "a", "echo": 1}, 400, "echo"),
             ({"prompt": "a", "response_format": {"type": "xml"}}, 400, "response_format"),
             ({"prompt": "a", "response_format": {"type": "json_schema"}}, 400, "response_format"),
             ({"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"name": "other"}}}, 400, "response_format"),
             ({"prompt": "a", "tools": []}, 400, "tools"), ({"prompt": "a", "stream_options": {}}, 400, "stream_options"), (b"{\"prompt\": \"\xff\"}", 400, None),
             ({"prompt": "a" * 300000}, 413, None)]
    for body, expected, param in cases:
        status, answer = service.send("POST", "/v1/completions", body)
        assert (status, answer["error"]["param"]) == (expected, param) and answer["error"]["message"], (body, answer)
    for messages in [None, [], "a", [{"role": "user"}], [1], [{"role": 1, "content": "a"}]]:
        status, answer = service.send("POST", "/v1/chat/completions", {"messages": messages})
        assert (status, answer["error"]["param"]) == (400, "messages"), (messages, answer)
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    for options, param in [({"tools": [tool]}, "tools"), ({"tools": "f"}, "tools"), ({"tool_choice": "auto"}, "tool_choice"),
                           ({"tools": [], "tool_choice": {"type": "function"}}, "tool_choice"), ({"echo": True}, "echo")]:
        status, answer = service.send("POST", "/v1/chat/completions", {"messages": MESSAGES, **options})
        assert (status, answer["error"]["param"]) == (400, param), (options, answer)
    status, answer = service.send("POST", "/v1/completions", long)
    print(status, answer["error"]["message"])


def check_disconnects(service):
    before = service.wait_until_idle()["tokens"]
    pieces = service.stream(prompt="a", n=8, max_tokens=500)
    next(pieces)
    pieces.close()
    del pieces
    connection = service.connect()
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "n": 8, "max_tokens": 500}))
    connection.close()
    written = service.wait_until_idle()["tokens"] - before
    assert written < 8000, written
    print("clients that went away: their sequences ended")


def check_full():
    service = Service("--queue", "1")
    request = {"prompt": "a", "n": 8, "max_tokens": 400}
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: service.send("POST", "/v1/completions", request), range(12)))
    statuses = [status for status, _ in answers]
    assert 200 in statuses and 503 in statuses and set(statuses) == {200, 503}, statuses
    service.end()
    print("a full queue: 503")


def check_shutdown(service):
    """A request that runs is answered; then nobody listens."""
    answers = []
    options = {"prompt": "a", "n": 8, "max_tokens": 500}
    thread = threading.Thread(target=lambda: answers.append(service.complete(**options)))
    connection = service.connect()
    thread.start()
    while service.send("GET", "/health", connection=connection)[1]["running"] == 0 and thread.is_alive():
        pass
    service.end()
    thread.join()
    assert answers[0]["usage"]["completion_tokens"] > 0
    try:
        service.send("GET", "/health")
        raise AssertionError("it listens")
    except ConnectionError:
        print("SIGTERM: what ran was answered")


def measure(service):
    body = json.dumps({"prompt": [3, 4, 5], "max_tokens": 32})

    def ask(count):
        connection = service.connect()
        for _ in range(count):
            assert service.send("POST", "/v1/completions", body, connection)[0] == 200

    for clients in (1, 16):
        begin = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(ask, [320 // clients] * clients))
        print(f"{320 / (time.perf_counter() - begin):.0f} requests of 32 tokens a second by {clients} clients")


def check_openai(service):
    try:
        import openai
    except ImportError:
        return
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{service.port}/v1", api_key="none")
    assert client.models.list().data[0].id == "talker"
    answer = client.chat.completions.create(model="talker", messages=MESSAGES, max_tokens=5)
    assert answer.usage.completion_tokens == 5
    pieces = client.chat.completions.create(model="talker", messages=MESSAGES, max_tokens=5, stream=True)
    assert list(pieces)[-1].choices[0].finish_reason == "length"
    try:
        client.completions.create(model="talker", prompt="a", temperature=3)
        raise AssertionError("no error")
    except openai.BadRequestError as error:
        assert error.param == "temperature"


def main():
    service = Service()
    try:
        for check in (check_routes, check_completions, check_chats, check_formats, check_parallel, check_errors, check_disconnects, measure,
                      check_openai):
            check(service)
        check_full()
        check_shutdown(service)
    finally:
        service.process.kill()


if __name__ == "__main__":
    main()
