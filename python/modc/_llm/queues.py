"""modc.Queue: prompts of many threads, or of asyncio, that one worker writes side by side; modc_queue.h."""
import array
import asyncio
import ctypes
import itertools
import operator
import os
import queue
import threading
import weakref
from concurrent.futures import Future

from modc import _library as lib
from modc._errors import Error
from modc._llm.generator import FINISHES, Closing, Generator, Written, address
from modc._llm.results import Event

FOREVER = -1.0


def whole(value):
    """An int of C: what is too large for one stays so, and is refused there."""
    return max(-2 ** 31, min(operator.index(value), 2 ** 31 - 1))


class Sink:
    """Events of a stream: for a thread, or from the first time that one is asked for there, for a loop of asyncio."""

    def __init__(self):
        self.events, self.lock, self.loop, self.awaited = queue.SimpleQueue(), threading.Lock(), None, None

    def put(self, event):
        with self.lock:
            if self.loop is None:
                self.events.put(event)
                return
            try:
                self.loop.call_soon_threadsafe(self.awaited.put_nowait, event)
            except RuntimeError:  # it is closed: nobody waits
                pass

    def attach(self):
        loop = asyncio.get_running_loop()
        with self.lock:
            if self.loop is None:
                self.loop, self.awaited = loop, asyncio.Queue()
                while not self.events.empty():
                    self.awaited.put_nowait(self.events.get())
        if self.loop is not loop:
            raise Error("stream(): it is read in another loop of asyncio")
        return self.awaited


class Item:
    """One that was submitted. kept: what C reads of it."""

    def __init__(self, read, options, room, sink, kept):
        self.future, self.read, self.options, self.room, self.sink, self.kept = Future(), read, options, room, sink, kept
        self.ticket = None


class Shared:
    """What the thread that takes news has: it keeps no Queue alive."""

    def __init__(self, llm, settings):
        self.llm, self.generator, self.library = llm, Generator(llm.net._core), llm.net._core.library
        self.pointer, self.items, self.numbers, self.process = ctypes.c_void_p(), {}, itertools.count(1), os.getpid()
        message = ctypes.create_string_buffer(300)
        with self.generator.lock:
            self.generator.ready("modc.Queue")
        status = self.library.queue_create(self.generator.pointer, ctypes.byref(settings), message, len(message),
                                           ctypes.byref(self.pointer))
        if status == lib.ARGUMENT:
            raise ValueError(f"modc.Queue: {message.value.decode()}")
        self.library.check(status, "modc.Queue")
        self.inner, self.closed, self.inside = self.library.queue_of(self.pointer), False, 0
        self.left = threading.Condition()  # of `closed` and `inside`, over a lock that a finalizer may find held by its own thread
        self.thread = threading.Thread(target=self.take_news, name="modc.Queue", daemon=True)
        self.thread.start()

    def take_news(self):
        """Until the queue is closed: events to streams, results to futures. The C of the queue ends with it."""
        news = lib.News()
        while True:
            self.library.queue_next(self.pointer, ctypes.byref(news))
            if news.row < 0:
                break
            item = self.items[news.id]
            if item.sink is not None:
                text = ctypes.string_at(news.text, news.bytes).decode("utf-8", "replace")
                status = self.library.status(news.status) if news.status else None
                item.sink.put((news.token, text, news.log_prob, FINISHES[news.finish], status))
            if news.ended:
                del self.items[news.id]
                self.finish(item, news.ticket)
            item = None  # which may be the last that has it
        with self.left:
            self.left.wait_for(lambda: self.inside == 0)
        self.library.queue_destroy(self.pointer)

    def finish(self, item, ticket):
        written = Written(item.options.samples, item.room)
        responses = lib.Responses(*map(address, (written.ids, written.log_probs, written.lengths, written.finishes, written.scores)),
                                  item.room, item.options.pad)
        result = lib.QueueResult(responses)
        self.library.queue_wait(self.inner, ticket, FOREVER, ctypes.byref(result))
        if not item.future.set_running_or_notify_cancel():
            return
        try:
            if result.status != lib.OK:
                self.generator.core.raise_for(self.generator.context, "submit", result.status)
            made = self.llm._result_of(item.read, item.options, written, self.cut(item, written))
        except BaseException as error:  # which is the caller's
            item.future.set_exception(error)
        else:
            item.future.set_result(made)

    def cut(self, item, written):
        """The texts without their stop texts, where these are to be left out; else None."""
        if not item.options.stops or item.options.keeps_stop:
            return None
        texts = [self.llm.generator.decode(written.row(written.ids, i), bool(item.options.skips_special))
                 for i in range(item.options.samples)]
        ends = [min((at for at in map(text.find, item.options.stops) if at >= 0), default=len(text)) for text in texts]
        return [text[:end] for text, end in zip(texts, ends)]

    def submit(self, item, struct, timeout, name):
        if os.getpid() != self.process:
            raise Error(f"{name}(): the queue's worker is in the process that made it")
        number, ticket, message = next(self.numbers), ctypes.c_uint64(), ctypes.create_string_buffer(300)
        if threading.current_thread() is self.thread:  # from a callback of a future: places come of what this thread takes
            timeout = 0
        with self.left:
            if self.closed:
                raise Error(f"{name}(): the queue was shut down")
            self.inside += 1
        self.items[number] = item
        try:
            status = self.library.queue_submit(self.pointer, ctypes.byref(struct), number, item.sink is not None, timeout,
                                               ctypes.byref(ticket), message, len(message))
        finally:
            with self.left:
                self.inside -= 1
                self.left.notify_all()
        if status == lib.OK:
            item.ticket = ticket.value
            return
        del self.items[number]
        if status == lib.FULL:
            raise queue.Full(f"{name}(): as many items wait as the queue holds")
        if status == lib.CLOSED:
            raise Error(f"{name}(): the queue was shut down")
        said = message.value.decode("utf-8", "replace")
        if said:
            raise ValueError(f"{name}(): {said}")
        self.library.check(status, f"{name}()")

    def call(self, function, *arguments):
        """A function of the queue in C; False: it was closed, or is another process's, whose worker may have held its mutex at the fork."""
        if os.getpid() != self.process:
            return False
        with self.left:
            if not self.closed:
                function(self.inner, *arguments)
            return not self.closed

    def cancel(self, ticket):
        """Nothing where it has ended."""
        self.call(self.library.queue_cancel, ticket)

    def close(self, finish, patience=None):
        if os.getpid() != self.process:
            return
        with self.left:
            first, self.closed = not self.closed, True
        if first:
            self.library.queue_close(self.pointer, finish)
        if threading.current_thread() is not self.thread:
            self.thread.join(patience)


class Queue:
    """Prompts of many threads, or coroutines, for one modc.LLM: queue = modc.Queue(llm); queue.submit("Once").result().

    A worker in C writes all of them side by side, in one call of the model for each step: what is submitted joins at the next. Each
    writes what llm.generate would write of it. Results are those of llm.generate for one prompt, options those of the call, else of
    the LLM. The queue has caches of its own, and weights as they are when it is made.

    min_batch_size, batching_timeout: where nothing runs, items begin when so many wait, or the oldest has waited so many seconds
    (None: for ever). max_batch_size: items that run together; None: as many as the spec has `sequences`. max_queue: items that wait.
    max_tokens: of a prompt with its response; None: the context. max_return_sequences, max_beams: of an item; memory for them is there
    from the start, and without max_beams there are no beams.
    """

    def __init__(self, llm, *, min_batch_size=1, max_batch_size=None, batching_timeout=10.0, max_queue=64, max_tokens=None,
                 max_return_sequences=None, max_beams=0):
        settings = lib.QueueSettings(whole(min_batch_size), whole(max_batch_size or 0),
                                     FOREVER if batching_timeout is None else batching_timeout, whole(max_queue),
                                     whole(max_tokens or 0), whole(max_return_sequences or llm.num_samples or 1), whole(max_beams))
        self._llm, self._shared = llm, Shared(llm, settings)
        self._end = weakref.finalize(self, self._shared.close, False, 1.0)  # no longer: it may hold what it waits for

    def _submit(self, prompt, kwargs, timeout, sink, name):
        llm, shared = self._llm, self._shared
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"{name}(): timeout is {timeout}: it takes seconds from 0, or None")
        options = llm._options(kwargs, name)
        if options.scores_prompts:
            raise ValueError(f"{name}(): a queue does not compute the log-probabilities of prompts")
        if sink and options.samples > 1:
            raise ValueError(f"{name}() has one response")
        about = llm.about
        read = llm._read(prompt, None, options.pad, name, about["source"] if about["encoder"] else about["context"] - 1)
        if read.rows.shape:
            raise ValueError(f"{name}() takes one prompt; several are several calls")
        row = array.array("q", read.rows.rows[0])
        ids = None if about["encoder"] else address(row)
        source = address(row) if about["encoder"] else None
        struct = lib.QueueItem(ids, len(row) if ids else 0, source, len(row) if source else 0, options.pointer)
        item = Item(read, options, max(1, shared.generator.length(options, 1 if source else len(row))), sink, row)
        shared.submit(item, struct, FOREVER if timeout is None else float(timeout), name)
        return item

    def submit(self, prompt, *, timeout=None, **kwargs):
        """One prompt, as the LLM's input_mode says, at the end of the queue: a concurrent.futures.Future of its Result. Where the queue is
        full it waits so many seconds (None: until there is room; in a callback of a future not at all), then queue.Full. cancel() of the
        future ends the item before the next token."""
        item = self._submit(prompt, kwargs, timeout, None, "submit")
        shared = weakref.ref(self._shared)

        def ended(future):
            if future.cancelled() and shared() is not None:
                shared().cancel(item.ticket)

        item.future.add_done_callback(ended)
        return item.future

    def generate(self, prompt, *, timeout=None, **kwargs):
        """The Result of one prompt: what llm.generate gives, from any thread, beside others."""
        return self.submit(prompt, timeout=timeout, **kwargs).result()

    async def agenerate(self, prompt, *, timeout=None, **kwargs):
        """The same for asyncio: while it waits, others run. Cancelling the task ends the item."""
        submitted, given_up = [], threading.Event()

        def submit():
            submitted.append(self.submit(prompt, timeout=timeout, **kwargs))
            if given_up.is_set():
                submitted[0].cancel()

        try:
            await asyncio.get_running_loop().run_in_executor(None, submit)
        except asyncio.CancelledError:  # where it waits for a place it still finds one
            given_up.set()
            for future in submitted:
                future.cancel()
            raise
        return await asyncio.wrap_future(submitted[0])

    def stream(self, prompt, *, timeout=None, **kwargs):
        """The response to one prompt token by token: an iterator of modc Events, also for `async for`."""
        sink = Sink()
        return QueueStream(self._shared, sink, self._submit(prompt, kwargs, timeout, sink, "stream"))

    def flush(self):
        """What waits now begins without waiting for more."""
        self._shared.call(self._shared.library.queue_flush)

    def cancel_all(self):
        """Ends all that wait or run: their results have what was written, and the finish "user"."""
        self._shared.call(self._shared.library.queue_cancel_all)

    def state(self):
        """What torchrl's get_batching_state() gives, by its names, and more."""
        found = lib.QueueState()
        if os.getpid() != self._shared.process:
            raise Error("state(): the queue's worker is in the process that made it")
        if not self._shared.call(self._shared.library.queue_get_state, ctypes.byref(found)):
            raise Error("state(): the queue was shut down")
        return {name: getattr(found, name) for name, _ in lib.QueueState._fields_}

    def close(self, finish=True):
        """Nothing more is submitted; what is there is finished, or (finish=False) ended with what it has. Waits for that."""
        self._shared.close(finish)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(finish=kind is None)


class QueueStream(Closing):
    """Events of one response, for a thread or for one loop of asyncio. Its item ends when it is closed, or nobody has it."""

    def __init__(self, shared, sink, item):
        self._sink, self._ended = sink, False
        self.future = item.future
        self._leave = weakref.finalize(self, shared.cancel, item.ticket)
        self._leave.atexit = False

    def _event(self, told):
        token, text, log_prob, finish, status = told
        self._ended = finish is not None
        if finish == "fault":
            raise Error(f"stream(): no token could be picked: {status}")
        return Event(token if token >= 0 else None, text, log_prob, finish)

    def __iter__(self):
        return self

    def __next__(self):
        if self._ended:
            raise StopIteration
        if self._sink.loop is not None:
            raise Error("stream(): it is read in a loop of asyncio")
        return self._event(self._sink.events.get())

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self._ended:
            raise StopAsyncIteration
        return self._event(await self._sink.attach().get())

    def result(self):
        """The Result, when all of it has come."""
        return self.future.result()
