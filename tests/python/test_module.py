#!/usr/bin/env python3
"""test_module.py [MODC] - modc.Module against PyTorch: numbers, autograd, what is noticed of changes, policies, messages.

MODC: the command, if it is not the one that the package finds. Exits with 77 where there is no PyTorch."""
import copy
import ctypes
import gc
import inspect
import io
import os
import pickle
import random
import sys
import tempfile
import threading
import unittest
import warnings
import weakref
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))
try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(77)
import modc  # noqa: E402
from modc._export.trace import reading  # noqa: E402
from modc._module import module as modules, tables  # noqa: E402

if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
    command = Path(sys.argv.pop(1))
    modc.executable = lambda: command
F = nn.functional
torch.set_num_threads(1)


class Net(nn.Module):
    """BatchNorm, a literal argument, a dict as the result."""

    def __init__(self):
        super().__init__()
        self.a, self.bn, self.b = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x, scale=1.0):
        h = torch.relu(self.bn(self.a(x)))
        return {"y": self.b(h) * scale, "h": h}


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))

    def loss(self, x):
        return self(x).square().mean()


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.b(torch.relu(self.norm(self.a(x))))


class Dropped(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5, self.training)


class Asks(nn.Module):
    """Which no spec can say."""

    def forward(self, x):
        return x if x.sum() > 0 else -x


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.calls = nn.Linear(4, 4), 0

    def forward(self, x):
        self.calls += 1
        return self.a(x)


class Several(nn.Module):
    """Arguments in structures, results of several types."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, pair, mask=None, scale=2):
        x, y = pair
        z = self.a(x) * scale
        if mask is not None:
            z = z * mask["keep"]
        return (z, y + z), [z.argmax(1)], None


class ByRows(nn.Module):
    """Another model for other extents."""

    def forward(self, x):
        return x.exp() if x.shape[0] > 4 else x * 2


def made(kind, seed=0, **options):
    torch.manual_seed(seed)
    model = kind()
    return model, copy.deepcopy(model), modc.Module(model, cflags="-O0", **options)


def strict(kind, **options):
    """Without PyTorch to fall back to."""
    return made(kind, fallback=modc.FallbackPolicy.FALLBACK_DISABLE, **options)


class Case(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error", RuntimeWarning)
        torch.manual_seed(7)

    def same(self, have, want, bound=1e-5):
        if isinstance(want, dict):
            self.assertEqual(list(have), list(want))
            have, want = list(have.values()), list(want.values())
        if isinstance(want, (list, tuple)):
            self.assertEqual((type(have), len(have)), (type(want), len(want)))
            for one, other in zip(have, want):
                self.same(one, other, bound)
            return
        if want is None:
            self.assertIsNone(have)
            return
        self.assertEqual((have.shape, have.dtype), (want.shape, want.dtype))
        self.assertLessEqual(float((have.detach().double() - want.detach().double()).abs().max()) if want.numel() else 0.0,
                             bound * max(1.0, float(want.detach().double().abs().max()) if want.numel() else 0.0))

    def same_gradients(self, model, other, bound=1e-4):
        for (name, one), (_, two) in zip(model.named_parameters(), other.named_parameters()):
            if two.grad is None:
                self.assertIsNone(one.grad, name)
            else:
                self.same(one.grad, two.grad, bound)

    def in_threads(self, count, work):
        """work(number) in threads that take turns at every chance."""
        failed, before = [], sys.getswitchinterval()

        def guarded(number):
            try:
                work(number)
            except BaseException as error:
                failed.append(error)
        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        if failed:
            raise failed[0]

    def raises(self, kind, text, function, *args, **kwargs):
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(str(caught.exception), text)

    def warned(self, text, function, *args, **kwargs):
        """What it returns, after exactly this warning."""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            result = function(*args, **kwargs)
        found = [item for item in found if item.category is RuntimeWarning]
        self.assertEqual([str(item.message) for item in found], [text])
        self.assertEqual(found[0].filename, __file__)
        return result


class Numbers(Case):
    def test_steps(self):
        """Training as PyTorch trains: results, gradients, statistics, and the same parameters behind an optimiser."""
        model, other, net = strict(Net)
        steps = [torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), torch.optim.SGD(other.parameters(), 0.1, momentum=0.9)]
        for i in range(4):
            x = torch.randn(5, 4)
            have, want = net(x), other(x)
            self.same(have, want)
            for optimiser, result in zip(steps, (have, want)):
                optimiser.zero_grad()
                (result["y"].square().mean() + result["h"].mean()).backward()
            self.same_gradients(net, other)
            for optimiser in steps:
                optimiser.step()
        for (key, one), two in zip(net.state_dict().items(), other.state_dict().values()):
            self.same(one, two, 1e-4)
        net.eval(), other.eval()
        with torch.no_grad():
            x = torch.randn(5, 4)
            self.same(net(x), other(x), 1e-4)
            other.train(), net.train()
            self.same(net(x), other(x), 1e-4)
            other.eval(), net.eval()  # whose folded statistics are others now
            self.same(net(x), other(x), 1e-4)
        self.assertEqual(int(model.bn.num_batches_tracked), 5)

    def test_structures(self):
        model, other, net = strict(Several)
        x, y, mask = torch.randn(3, 4), torch.randn(3, 4), {"keep": torch.ones(3, 4)}
        self.same(net((x, y)), other((x, y)))
        self.same(net((x, y), mask=mask), other((x, y), mask=mask))
        self.same(net((x, y), mask, scale=3), other((x, y), mask, scale=3))
        x.requires_grad_(), y.requires_grad_()
        for f in (net, other):
            f((x, y))[0][1].sum().backward()
        self.same_gradients(net, other)
        self.same(y.grad, torch.full((3, 4), 2.0))
        self.assertFalse(net((x, y))[1][0].requires_grad)

    def test_views(self):
        """What is not contiguous is copied, arguments and gradients."""
        model, other, net = strict(Mlp)
        x = torch.randn(4, 6).t()[:5].detach().requires_grad_()
        gradient = torch.randn(3, 5).t()
        net(x).backward(gradient)
        have, x.grad = x.grad, None
        other(x).backward(gradient)
        self.same(have, x.grad)
        self.same_gradients(net, other)
        net.zero_grad(), other.zero_grad()
        net(x).sum().backward(), other(x).sum().backward()  # a gradient without strides
        self.same_gradients(net, other)

    def test_sizes(self):
        model, other, net = strict(Mlp)
        net.eval()
        with torch.no_grad():
            for rows in (3, 5, 7, 8, 3, 9, 30, 1):
                x = torch.randn(rows, 4)
                self.same(net(x), other(x))
        self.assertEqual(len(net._modc.libraries.known), 4)  # 3 rows; at most 8, 16 and 32
        for rows in (2, 6):
            x = torch.randn(rows, 4)
            net(x).sum().backward(), other(x).sum().backward()
            self.same_gradients(net, other)

    def test_decided_by_sizes(self):
        model, other, net = strict(ByRows)
        for rows in (3, 5, 6, 4, 3):
            x = torch.randn(rows, 2)
            self.same(net(x), other(x))

    def test_random(self):
        """From PyTorch's generator: another mask in each call, the same after manual_seed; none in evaluation mode."""
        model, other, net = strict(Dropped)
        x = torch.ones(1000, requires_grad=True)
        torch.manual_seed(3)
        one, two = net(x), net(x)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(net(x), one))
        self.assertFalse(torch.equal(one, two))
        self.assertTrue(400 < int((one == 0).sum()) < 600)
        one.sum().backward()
        self.assertTrue(torch.equal(x.grad, one.detach()))
        self.assertTrue(torch.equal(net.eval()(x), x))

    def test_modes_of_parts(self):
        """A part that is kept in evaluation mode, and parts that train in a model that does not."""
        model, other, net = strict(Net)
        x = torch.randn(5, 4)
        for m in (model, other):
            m.train()
            m.bn.eval()
        self.same(net(x), other(x))
        self.assertEqual(int(model.bn.num_batches_tracked), 0)
        for m in (model, other):
            m.eval()
            m.bn.train()
        self.same(net(x), other(x))
        self.assertEqual(int(model.bn.num_batches_tracked), 1)

    def test_double(self):
        model, other, net = strict(Mlp)
        net.double(), other.double()
        x = torch.randn(2, 4, dtype=torch.float64)
        self.same(net(x), other(x), 1e-12)


class Autograd(Case):
    def test_several_forwards(self):
        """Before one backward, and the module within itself."""
        model, other, net = strict(Mlp)
        first, second = torch.randn(2, 4), torch.randn(2, 4)
        for f in (net, other):
            (f(first).sum() + f(second).square().sum()).backward()
        self.same_gradients(net, other)
        for f in (net, other):
            once = f(first)
            f(torch.cat([once, once[:, :1]], 1)).sum().backward()  # added to the gradients that are there
        self.same_gradients(net, other)

    def test_context_returns(self):
        """What a forward keeps is free for the next one when its graph is gone."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        net(x).sum().backward()
        compiled = next(iter(net._modc.runner.compiled.values()))
        for _ in range(10):
            net(x)
        gc.collect()
        self.assertEqual(compiled.free(), 1)
        kept = [net(x) for _ in range(3)]
        kept[0].sum().backward()
        self.assertEqual(compiled.free(), 1)
        del kept
        self.assertEqual(compiled.free(), 3)

    def test_twice(self):
        model, other, net = strict(Mlp)
        loss = net(torch.randn(2, 4)).sum()
        loss.backward(retain_graph=True)
        self.raises(RuntimeError, "Trying to backward through a modc.Module a second time: what C keeps of a forward serves one backward, "
                    "with retain_graph=True too. Call the module again.", loss.backward)
        loss = net(torch.randn(2, 4)).sum()
        loss.backward()
        with self.assertRaisesRegex(RuntimeError, "backward through the graph a second time"):
            loss.backward()

    def test_twice_differentiated(self):
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4, requires_grad=True)
        gradient, = torch.autograd.grad(net(x).square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            gradient.sum().backward()

    def test_changed_between(self):
        model, other, net = strict(Mlp)
        loss = net(torch.randn(2, 4)).sum()
        with torch.no_grad():
            model.a.weight.add_(1)
        self.raises(RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                    "parameter of a modc.Module was changed between its forward and backward", loss.backward)
        x = torch.randn(2, 4)
        loss = net(x).sum()
        x.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_requires_grad(self):
        """What is frozen has no gradient; frozen and free again; inputs alone."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        for names in ({"a"}, set(), {"a", "b"}):
            for f in (net, other):
                f.zero_grad(set_to_none=True)
                for name in "ab":
                    getattr(f, name).requires_grad_(name not in names)
            y = net(x.clone().requires_grad_())
            y.sum().backward(), other(x.clone().requires_grad_()).sum().backward()
            self.same_gradients(net, other)
        x.requires_grad_()
        net(x).sum().backward()
        have, x.grad = x.grad, None
        other(x).sum().backward()
        self.same(have, x.grad)
        self.assertFalse(net(x.detach()).requires_grad)

    def test_no_grad(self):
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.assertFalse(net(x).requires_grad)
        with torch.inference_mode():
            self.same(net(x), other(x))
        self.assertTrue(net(x).requires_grad)
        self.same(net(x), other(x))

    def test_unused(self):
        """One result of two, and a gradient of None for what no result depends on."""
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(4, 2)

            def forward(self, x):
                return self.a(x), self.b(x)
        model, other, net = strict(Two)
        x = torch.randn(2, 4)
        net(x)[1].sum().backward(), other(x)[1].sum().backward()
        self.assertIsNone(model.c.weight.grad)
        self.same(model.b.weight.grad, other.b.weight.grad)

    def test_hooks_of_tensors(self):
        model, other, net = strict(Mlp)
        seen = []
        model.a.weight.register_hook(lambda gradient: seen.append(gradient.clone()))
        net(torch.randn(2, 4)).sum().backward()
        self.assertTrue(torch.equal(seen[0], model.a.weight.grad))


class Changes(Case):
    """What happens to the user's tensors is noticed before the next call."""
    watched = True  # C looks

    def check(self, change):
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        net.eval()
        with torch.no_grad():
            self.same(net(x), other(x))
            self.same(net(x), other(x))
            self.assertEqual(net._modc.held.watched, self.watched)
            change(net), change(other)
            for _ in range(2):
                self.same(net(x), other(x))

    def test_buffers(self):
        """They are folded into weights, which are then made again."""
        model, other, net = strict(Net)
        x = torch.randn(3, 4)
        net.eval(), other.eval()
        with torch.no_grad():
            def both(m):
                """Another mode, which changes nothing, at the same time."""
                a = (m.module if isinstance(m, modc.Module) else m).a
                a.train(not a.training)
                [buffer.add_(1) for buffer in m.buffers()]
            for change in (lambda m: None, lambda m: [buffer.add_(1) for buffer in m.buffers()], both, both):
                change(net), change(other)
                self.same(net(x), other(x))

    def test_modes(self):
        model, other, net = strict(Net)
        x = torch.randn(3, 4)
        for change in (lambda m: m, lambda m: m.eval(), lambda m: next(m.children()).train(), lambda m: m.train()):
            change(model), change(other)
            for _ in range(2):
                self.same(net(x), other(x), 1e-4)

    def test_inference_mode(self):
        """Its tensors have no versions, be they arguments or parameters."""
        model, other, net = strict(Net)
        for _ in range(2):
            with torch.inference_mode():
                x = torch.randn(3, 4)
                self.same(net(x), other(x))
        with torch.inference_mode():
            model, other, net = strict(Mlp)
            net.eval()
            x = torch.randn(2, 4)
            for _ in range(2):
                self.same(net(x), other(x))
                model.a.weight.mul_(2), other.a.weight.mul_(2)

    def test_in_place(self):
        self.check(lambda m: m.a.weight.mul_(2))

    def test_loaded(self):
        torch.manual_seed(5)
        state = Mlp().state_dict()
        self.check(lambda m: m.load_state_dict(state))

    def test_assigned(self):
        self.check(lambda m: setattr(m.a, "weight", nn.Parameter(torch.ones(6, 4))))

    def test_module_assigned(self):
        def change(m):
            m.b = nn.Linear(6, 2)
            nn.init.ones_(m.b.weight), nn.init.zeros_(m.b.bias)
        self.check(change)

    def test_data(self):
        self.check(lambda m: setattr(m.a.weight, "data", torch.ones(6, 4)))

    def test_data_in_place(self):
        def change(m):
            m.a.weight.data.mul_(2)
            if isinstance(m, modc.Module):
                m.changed()
        self.check(change)

    def test_strides(self):
        """A parameter that is not contiguous is copied, and copied again when it changes."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        for m in (model, other):
            m.a.weight.data = m.a.weight.data.t().contiguous().t()
        with torch.inference_mode():
            self.same(net(x), other(x))
        for _ in range(2):
            self.same(net(x), other(x))
            net(x).sum().backward(), other(x).sum().backward()
            self.same_gradients(net, other)
            with torch.no_grad():
                model.a.weight.add_(1), other.a.weight.add_(1)

    def test_graphs_of_earlier_tensors(self):
        """They keep those that they were made with."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        for m in (model, other):
            first = (net if m is model else m)(x)
            old = m.a.weight
            m.a.weight = nn.Parameter(torch.ones(6, 4))
            second = (net if m is model else m)(x)
            (first.sum() + 2 * second.sum()).backward()
            m.old = [old.grad, m.a.weight.grad]
        self.same(model.old, other.old)
        self.same_gradients(net, other)

    def test_odd_arguments(self):
        """Empty, overlapping, read-only, at no multiple of their element; and what PyTorch refuses, as PyTorch refuses it."""
        model, other, net = strict(Mlp)
        odd = torch.frombuffer(bytearray(49), dtype=torch.float32, count=12, offset=1)
        given = [torch.zeros(0, 4), torch.randn(1, 4).expand(5, 4), torch.randn(30).as_strided((3, 4), (2, 1)), torch.randn(4),
                 torch.randn(2, 3, 4), odd.view(3, 4)]
        for x in given:
            self.same(net(x), other(x))
        for x in (torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 4, dtype=torch.float64), torch.zeros(())):
            with self.assertRaises(RuntimeError) as caught:
                other(x)
            self.raises(RuntimeError, str(caught.exception), net, x)

    def test_threads(self):
        for seed in range(5):
            model, other, net = strict(Mlp, seed=seed)
            apart = []

            def work(_):
                for _ in range(50):
                    x = torch.randn(5, 4)
                    y = net(x)
                    y.sum().backward()
                    apart.append(float((y - other(x)).abs().max()))
            self.in_threads(3, work)
            self.assertEqual(len(apart), 150)
            self.assertLess(max(apart), 1e-5)

    def test_threads_that_change(self):
        """Each call is one of the model as it is before or after what other threads do, and nothing is left of it."""
        for seed in range(3):
            model, other, net = strict(Normed, seed=seed, hooks=seed == 1)
            for part in (net, other):
                part.eval()
            done = []

            def work(number):
                draw = random.Random(10 * seed + number)
                for _ in range(40):
                    x = torch.randn(draw.choice([2, 3, 5]), 4)
                    what = draw.randrange(6)
                    if what == 0:
                        net.changed()
                    elif what == 1:  # as it was
                        model.b.weight = nn.Parameter(model.b.weight.detach().clone())
                    elif what == 2:
                        with torch.no_grad():
                            self.same(net(x), other(x))
                    else:
                        x.requires_grad_(what == 3)
                        y = net(x)
                        y.sum().backward()
                        self.same(y, other(x))
                done.append(number)
            self.in_threads(4, work)
            self.assertEqual(len(done), 4)
            x = torch.randn(4, 4)
            self.same(net(x), other(x))

    def test_traced_beside_others(self):
        """What one thread's model does while another's is read is no part of that."""
        done = threading.Event()

        class Halves(torch.autograd.Function):
            """A function that no spec has."""

            @staticmethod
            def forward(ctx, x):
                return x * 0.5

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        def work(number):
            if number == 0:
                try:
                    for seed in range(5):
                        model, other, net = strict(Mlp, seed=seed)
                        x = torch.randn(5, 4)
                        self.same(net(x), other(x))
                finally:
                    done.set()
            x = torch.randn(2, 3, requires_grad=True)
            while not done.is_set():
                Halves.apply(x)
                nn.Identity()(x[0])
                random.random()
        self.in_threads(2, work)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork(self):
        """Whatever another thread does meanwhile."""
        model, other, net = strict(Mlp)
        x, begun, done = torch.randn(5, 4), threading.Event(), threading.Event()
        self.same(net(x), other(x))
        compiled = next(iter(net._modc.runner.compiled.values()))

        def hold():
            with net._modc.lock, compiled.lock, reading.lock:
                begun.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if max(float((net(y) - other(y)).detach().abs().max()) for y in (x, x[:3])) < 1e-5 else 1)
        done.set()
        thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_nothing_moves(self):
        """The user's tensors lie where they lay."""
        model, other, net = strict(Net)
        before = [(id(tensor), tensor.data_ptr()) for tensor in model.state_dict(keep_vars=True).values()]
        net(torch.randn(3, 4))["y"].sum().backward()
        self.assertEqual([(id(tensor), tensor.data_ptr()) for tensor in model.state_dict(keep_vars=True).values()], before)


class ChangesByPython(Changes):
    """The same where C cannot look."""
    watched = False

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(modc._module.held.Held, "can_be_watched", lambda held: False)
        patch.start()
        self.addCleanup(patch.stop)


class ChangesByExchange(Changes):
    """The same where PyTorch's own functions for that lack, or are others than expected."""
    exchange = tables.exchange()
    lacks = exchange is None or not tables.natives()[-1]

    def setUp(self):
        super().setUp()
        if self.lacks:
            self.skipTest("this PyTorch has no other way")
        for name, item in (("_first", []), ("natives", lambda: [None] * len(tables.NATIVE) + [0]), ("exchange", lambda: self.exchange)):
            patch = mock.patch.object(tables, name, item)
            patch.start()
            self.addCleanup(patch.stop)


class ChangesByAttributes(ChangesByExchange):
    """The same without DLPack, as before PyTorch 2.10."""
    exchange = None
    lacks = ChangesByExchange.exchange is None


class Quick(Case):
    """Calls like earlier ones, which C finds by itself."""

    def setUp(self):
        super().setUp()
        self.others = 0
        run = modules.State.run

        def counted(state, *args, **kwargs):
            self.others += 1
            return run(state, *args, **kwargs)
        patch = mock.patch.object(modules.State, "run", counted)
        patch.start()
        self.addCleanup(patch.stop)

    def known(self, net, other, *args, **kwargs):
        """Whether C knows the call. Its results are PyTorch's in any case."""
        before = self.others
        self.same(net(*args, **kwargs), other(*args, **kwargs), 1e-4)
        return self.others == before

    def warm(self, net, other, *args, **kwargs):
        while not self.known(net, other, *args, **kwargs):
            self.assertLess(self.others, 8)
        self.others = 0

    def test_evaluation(self):
        model, other, net = strict(Mlp)
        x, y = torch.randn(2, 4), torch.randn(3, 4)
        with torch.no_grad():
            self.warm(net, other, x)
            self.warm(net, other, y)
            self.warm(net, other, x=x)
            for _ in range(2):
                self.assertTrue(self.known(net, other, x))
                self.assertTrue(self.known(net, other, y + 1))
                self.assertTrue(self.known(net, other, x=x))
            self.assertTrue(self.known(net, other, torch.randn(4, 2).t()))
            self.assertTrue(self.known(net, other, torch._neg_view(x)))
            self.assertTrue(self.known(net, other, nn.Parameter(x)))
            model.a.weight.mul_(2), other.a.weight.mul_(2)
            self.assertTrue(self.known(net, other, x))
            self.assertFalse(self.known(net, other, torch.randn(5, 4)))
            model.a.weight.data = torch.ones(6, 4)
            other.a.weight.data = torch.ones(6, 4)
            self.assertFalse(self.known(net, other, x))
            self.warm(net, other, x)
        self.assertFalse(self.known(net, other, x))  # gradients are kept
        self.assertTrue(net(x).requires_grad)
        with torch.inference_mode():
            net(x)
            self.assertTrue(self.known(net, other, x))
            self.assertTrue(net(x).is_inference())

    def test_training(self):
        model, other, net = strict(Net)
        steps = [torch.optim.SGD(f.parameters(), 0.05, momentum=0.9) for f in (net, other)]
        for i in range(6):
            x = torch.randn(5, 4, requires_grad=i % 2 == 1)
            have, want = net(x), other(x)
            self.same(have, want, 1e-3)
            for step, result in zip(steps, (have, want)):
                step.zero_grad()
                result["y"].square().mean().backward()
                if x.requires_grad:
                    self.assertIsNotNone(x.grad)
                    x.grad = None
            for one, two in zip(model.parameters(), other.parameters()):
                self.same(one.grad, two.grad, 1e-3)
            for step in steps:
                step.step()
        self.assertEqual(self.others, 2)
        self.assertEqual(int(model.bn.num_batches_tracked), 6)
        self.same(model.bn.running_var, other.bn.running_var, 1e-3)
        for m in (model, other):
            m.a.weight.requires_grad_(False)
        self.assertFalse(self.known(net, other, x))
        self.warm(net, other, x)
        for m in (model, other):
            m.eval()
        self.assertFalse(self.known(net, other, x))
        with torch.no_grad():
            for _ in range(3):
                self.known(net, other, x)
        for m in (model, other):
            m.train()
        for _ in range(3):
            self.known(net, other, x)
        model.eval(), other.eval()
        with torch.no_grad():
            self.known(net, other, x)

    def test_arguments(self):
        """Literals are those of earlier calls, structures are for Python."""
        model, other, net = strict(Net)
        net.eval(), other.eval()
        x = torch.randn(5, 4)
        with torch.no_grad():
            self.warm(net, other, x, True)
            self.assertFalse(self.known(net, other, x, False))
            self.assertFalse(self.known(net, other, x, 1))
            self.warm(net, other, x, scale=2)
            self.assertTrue(self.known(net, other, x, scale=2))
            self.assertTrue(self.known(net, other, x, True))
            self.assertFalse(self.known(net, other, x.double().float().to_sparse().to_dense()[:3]))
        model, other, net = strict(Several)
        with torch.no_grad():
            for _ in range(3):
                self.assertFalse(self.known(net, other, (x, x)))

    def test_frozen(self):
        """Without anything to train, gradients are of arguments that want them."""
        model, other, net = strict(Mlp)
        for parameter in [*model.parameters(), *other.parameters()]:
            parameter.requires_grad_(False)
        x = torch.randn(2, 4)
        self.warm(net, other, x)
        self.assertTrue(self.known(net, other, x))
        x.requires_grad_()
        for _ in range(3):
            self.assertFalse(self.known(net, other, x))
            net(x).sum().backward()
        other(x).sum().backward()
        self.same(x.grad, x.grad / 4 * 4)

    def test_many(self):
        """As many as C is told of, and more."""
        model, other, net = strict(ByRows)
        net.eval()
        with torch.no_grad():
            for _ in range(2):
                for rows in range(1, 12):
                    for _ in range(2):
                        self.known(net, other, torch.randn(rows, 2))
            self.assertTrue(self.known(net, other, torch.randn(11, 2)))
            self.assertTrue(self.known(net, other, torch.randn(10, 2)))

    def test_forward(self):
        """net.forward is C's function, unless somebody has another one."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        self.warm(net, other, x)
        self.assertEqual(str(inspect.signature(net.forward)), "(*args, **kwargs)")
        self.assertIn("forward", vars(net))
        self.assertNotIn("forward", vars(copy.deepcopy(net)))
        inner = net.forward
        net.forward = lambda x: inner(x) * 2
        self.same(net(x), other(x) * 2)
        del net.forward
        self.same(net(x), other(x))

        class Mine(modc.Module):
            def forward(self, x):
                return super().forward(x) + 1
        mine = Mine(model, cflags="-O0")
        for _ in range(3):
            self.same(mine(x), other(x) + 1)

    def test_strides(self):
        """The same memory, but other strides, or another shape."""
        class Square(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)

            def forward(self, x):
                return self.a(x)
        model, other, net = strict(Square)
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.warm(net, other, x)
            for _ in range(2):  # and back
                for m in (model, other):
                    m.a.weight.data = m.a.weight.data.t()
                if tables.exchange() is None:  # before PyTorch 2.10 only addresses are looked at
                    net.changed()
                for _ in range(3):
                    self.known(net, other, x)

    def test_inference_data(self):
        """A parameter that has no version any more, in the same memory."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.warm(net, other, x)
            with torch.inference_mode():
                data = torch.from_numpy(model.a.weight.detach().numpy())
            model.a.weight.data = data
            for _ in range(3):
                self.same(net(x), other(x))

    def test_hooks_of_saved_tensors(self):
        """Nothing of a call is given to them: what C reads it holds itself."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor * 0, lambda tensor: tensor):
            y = net(x + 0)
        y.sum().backward()
        other(x).sum().backward()
        self.same_gradients(net, other)

    def test_transforms(self):
        """What torch.func has wrapped lies nowhere: an error, as before."""
        if not hasattr(torch, "func"):
            self.skipTest("no torch.func")
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.warm(net, other, x)
            for _ in range(2):
                with self.assertRaises(RuntimeError):
                    torch.func.vmap(net)(torch.randn(3, 2, 4))
            self.assertTrue(self.known(net, other, x))

    def test_freed(self):
        """A module and all that C had of it go when nobody has them, also in the midst of a graph."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        self.warm(net, other, x)
        y, held, forward = net(x).sum(), weakref.ref(net._modc.held), net.forward
        del net
        gc.collect()
        self.same(forward(x), other(x))
        del forward
        gc.collect()
        y.backward()
        other(x).sum().backward()
        self.same_gradients(model, other)
        del y
        gc.collect()
        self.assertIsNone(held())


class Methods(Case):
    def test_names(self):
        model, other, net = strict(Net)
        self.assertEqual(list(net.state_dict()), list(other.state_dict()))
        self.assertEqual([name for name, _ in net.named_modules()], ["", "a", "bn", "b"])
        self.assertEqual([name for name, _ in net.named_children()], ["a", "bn", "b"])
        self.assertEqual(list(net.children()), [model.a, model.bn, model.b])
        self.assertIs(net.module, model)
        self.assertIs(net.a, model.a)
        self.assertIs(net.get_submodule("bn"), model.bn)
        self.assertIs(net.get_parameter("a.weight"), model.a.weight)
        self.assertEqual(len(list(net.parameters())), 6)
        self.assertEqual(len(list(net.buffers())), 3)
        with self.assertRaises(AttributeError):
            net.nothing
        net.register_buffer("extra", torch.zeros(2))
        self.assertIn("extra", model.state_dict())
        self.assertIs(net.train(False), net)
        self.assertFalse(model.bn.training or net.training)
        self.assertIn("(bn): BatchNorm1d", repr(net))
        with self.assertRaises(TypeError):
            net.load_state_dict({}, assign=True)

    def test_methods_of_the_user(self):
        """They run with the wrapper, so that what they call is compiled."""
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        self.same(net.loss(x), other.loss(x))
        self.assertEqual(len(net._modc.libraries.known), 1)

    def test_copies(self):
        model, other, net = strict(Mlp)
        x = torch.randn(2, 4)
        net(x)
        twin = copy.deepcopy(net)
        with torch.no_grad():
            model.a.weight.zero_()
        self.same(twin(x), other(x))
        data = pickle.dumps(twin)
        back = pickle.loads(data)
        self.same(back(x), other(x))
        file = io.BytesIO()
        torch.save(twin.state_dict(), file)
        file.seek(0)
        net.load_state_dict(torch.load(file))
        self.same(net(x), other(x))

    def test_refused(self):
        model, other, net = strict(Mlp)
        text = "add_module: a modc.Module wraps a whole model; add the module to that, before"
        self.raises(modc.ModuleTorchModelException, text, net.add_module, "c", nn.ReLU())
        self.raises(modc.ModuleTorchModelException,
                    "DataParallel: a modc.Module is not replicated; wrap it in DistributedDataParallel",
                    net._replicate_for_data_parallel)
        self.raises(TypeError, "modc.Module takes a torch.nn.Module, not a int", modc.Module, 3)
        self.raises(TypeError, "modc.Module does not take DataParallel: wrap the modc.Module in DistributedDataParallel instead",
                    modc.Module, nn.DataParallel(other))
        self.raises(TypeError, "this is a modc.Module already", modc.Module, net)
        self.raises(TypeError, "debug is a int, not modc.DebugOptions", modc.Module, other, debug=1)

    def test_hides(self):
        class Own(nn.Module):
            def changed(self):
                return 1
        self.warned("attributes of the module that modc.Module has, too, and which hide them: changed", modc.Module, Own())

    def test_distributed(self):
        """Its hooks of gradients fire."""
        import torch.distributed as distributed
        if not distributed.is_available():
            self.skipTest("no torch.distributed")
        model, other, net = strict(Mlp)
        with tempfile.TemporaryDirectory() as folder:
            distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
            try:
                parallel = nn.parallel.DistributedDataParallel(net)
                for _ in range(2):
                    x = torch.randn(3, 4)
                    parallel(x).sum().backward(), other(x).sum().backward()
                self.same_gradients(net, other)
            finally:
                distributed.destroy_process_group()


@unittest.skipUnless(hasattr(torch, "compile"), "this PyTorch has no torch.compile")
class Dynamo(Case):
    def test_splits(self):
        """At what modc lacks, at what asks for values, and at what writes to an argument."""
        class Lacks(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.bn, self.b = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

            def forward(self, x):
                h = torch.special.bessel_j0(torch.tanh(self.a(x)) + 1) * 2
                if h.sum() > -1e9:
                    h = h + 1
                return self.b(self.bn(h)), h.shape[0]
        torch.manual_seed(0)
        model = Lacks()
        other = copy.deepcopy(model)
        net = torch.compile(model, backend=modc.backend, options={"cflags": "-O0"})
        for rows in (3, 3, 5):
            x = torch.randn(rows, 4)
            (have, count), (want, _) = net(x), other(x)
            self.same(have, want, 1e-4)
            self.assertEqual(count, rows)
            have.square().sum().backward(), want.square().sum().backward()
            self.same_gradients(model, other, 1e-3)
        self.same(model.bn.running_mean, other.bn.running_mean)


class Docs(Case):
    def test_examples(self):
        """Those of docs/python.md about modc.Module run."""
        text = (Path(__file__).resolve().parent.parent.parent / "docs" / "python.md").read_text(encoding="utf-8")
        section = text.split("\n## modc.Module")[1].split("\n## ")[0]
        code = "\n".join(block.split("```")[0] for block in section.split("```python\n")[1:])
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ["CFLAGS"] = "-O0"
            before_stderr, sys.stderr = sys.stderr, io.StringIO()
            try:
                exec(code, {})
            finally:
                sys.stderr = before_stderr
                del os.environ["CFLAGS"]
                os.chdir(before)
            self.assertIn("model_exported_training.yaml", os.listdir(folder))


class Hooks(Case):
    def test_warning(self):
        model, other, net = strict(Mlp)
        model.a.register_forward_hook(lambda module, args, output: output * 2)
        x = torch.randn(2, 4)
        have = self.warned("hooks of the module 'a' do not fire in modc.Module; with hooks=True they do", net, x)
        self.same(have, other(x))

    def test_fire(self):
        model, other, net = strict(Mlp, hooks=True)
        seen, x = {model: [], other: []}, torch.randn(2, 4)
        for m, list_ in seen.items():
            m.a.register_forward_pre_hook(lambda module, args, list_=list_: list_.append(("pre", module is model.a or module is other.a,
                                                                                         args[0].clone())))
            m.b.register_full_backward_hook(lambda module, of_inputs, of_outputs, list_=list_: list_.append(
                ("back", module is model.b or module is other.b, of_inputs[0].clone())))
        have, want = net(x), other(x)
        self.same(have, want)
        have.sum().backward(), want.sum().backward()
        self.same_gradients(net, other)
        self.assertEqual([item[:2] for item in seen[model]], [("pre", True), ("back", True)])
        for one, two in zip(seen[model], seen[other]):
            self.same(one[2], two[2])
        for m in (model, other):
            m.a.register_forward_hook(lambda module, args, output: output * 2)
        with torch.no_grad():
            self.same(net(x), other(x))

    def test_raises(self):
        model, other, net = strict(Mlp, hooks=True)

        def hook(module, args):
            raise KeyError("mine")
        handle = model.a.register_forward_pre_hook(hook)
        self.raises(KeyError, "'mine'", net, torch.randn(2, 4))
        handle.remove()
        x = torch.randn(2, 4)
        self.same(net(x), other(x))


class Policies(Case):
    ASKS = ("error: the model asks for whether a tensor is true (__bool__), which is known only when it runs\n    return x if x.sum() > 0 "
            "else -x\nhint: choose by torch.where, or let an argument of the module decide")

    def place(self):
        line = next(i for i, text in enumerate(Path(__file__).read_text().split("\n"), 1) if "x.sum() > 0" in text)
        return f"{Path(__file__)}:{line}: "

    def test_default(self):
        """PyTorch runs the module from then on, after one warning."""
        model, other, net = made(Asks)
        x = torch.ones(2)
        self.assertEqual(modc._module.fallback.DEFAULT, 8 | 16 | 32 | 64)
        self.same(self.warned("modc.Module runs this module in PyTorch (from now on): ModuleTorchModelException: " + self.place()
                              + self.ASKS, net, x), x)
        self.same(net(-x), x)

    def test_disabled(self):
        model, other, net = strict(Asks)
        self.raises(modc.ModuleTorchModelException, self.place() + self.ASKS, net, torch.ones(2))
        model, other, net = made(Asks, fallback=modc.FallbackPolicy.UNSUPPORTED_DATA)
        self.raises(modc.ModuleTorchModelException, self.place() + self.ASKS, net, torch.ones(2))

    def test_retry(self):
        model, other, net = made(Asks, retry=True)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            net(torch.ones(2)), net(torch.ones(2))
        self.assertEqual(len([1 for item in found if item.category is RuntimeWarning]), 1)
        self.assertIsNone(net._modc.fallback.reason)

    def test_classes(self):
        """Exactly the classes of each bit."""
        policy, table = modc.FallbackPolicy, {
            8: {"Device"}, 16: {"IO"}, 32: {"TorchModel"}, 64: {"Spec"}, 128: {"Init", "TorchModel"}, 1: set(),
            2: {"Fallback", "Device", "IO", "TorchModel", "Spec", "Init", "other"}, 4: set()}
        causes = {"Fallback": modc.ModuleFallbackException("x"), "Device": modc.ModuleDeviceException("x"),
                  "IO": modc.ModuleIOError("x"), "TorchModel": modc.ModuleTorchModelException("x"),
                  "Spec": modc.ModuleSpecException("x"), "Init": modc.ModuleInitException("x"), "other": KeyError("x")}

        class Derived(modc.ModuleIOError):
            pass
        for bit, names in table.items():
            fallback = modc._module.fallback.Fallback(policy(bit))
            self.assertEqual({name for name, cause in causes.items() if fallback.covers(cause)}, names, bit)
            self.assertEqual(fallback.covers(Derived("x")), bit == 2)
            self.assertEqual(fallback.covers(KeyError("x"), backward=True), bit == 4)
        self.assertFalse(modc._module.fallback.Fallback(policy(255)).covers(causes["IO"]))

    def test_mistake_of_the_caller(self):
        """What PyTorch raises for a call is raised, and the module stays compiled."""
        model, other, net = made(Mlp)
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2"):
            net(torch.randn(2, 5))
        with self.assertRaisesRegex(TypeError, "positional argument"):
            net()
        self.assertIsNone(net._modc.fallback.reason)
        x = torch.randn(2, 4)
        self.same(net(x), other(x))

    def test_backward(self):
        """In PyTorch, where C's fails and the policy says so."""
        for policy in (modc.FallbackPolicy.FORCE_TORCH_BACKWARD, modc.FallbackPolicy.UNSUPPORTED_DATA):
            model, other, net = made(Mlp, fallback=policy)
            x = torch.randn(2, 4, requires_grad=True)
            y = net(x)
            compiled = next(iter(net._modc.runner.calls.values())).compiled
            broken = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda frame: 15)  # MODC_MEMORY
            compiled.weights.run_backward = ctypes.cast(broken, ctypes.c_void_p)
            if policy == modc.FallbackPolicy.UNSUPPORTED_DATA:
                self.raises(modc.CallError, "out of memory", y.sum().backward)
                continue
            self.warned("modc.Module runs this module in PyTorch (from now on): CallError: out of memory", y.sum().backward)
            have, x.grad = x.grad, None
            other(x).sum().backward()
            self.same(have, x.grad)
            self.same_gradients(net, other)

    def test_environment(self):
        def of(**environment):
            before = {name: os.environ.get(name) for name in environment}
            os.environ.update(environment)
            try:
                fallback = modc._module.fallback.Fallback()
                return int(fallback.policy), fallback.retry
            finally:
                for name, value in before.items():
                    os.environ.pop(name) if value is None else os.environ.update({name: value})
        self.assertEqual(of(MODC_FALLBACK_POLICY="24"), (24, False))
        self.assertEqual(of(MODC_FALLBACK_POLICY="UNSUPPORTED_DATA|UNSUPPORTED_DEVICE", MODC_FALLBACK_RETRY="1"), (24, True))
        names = ", ".join(modc.FallbackPolicy.__members__)
        self.raises(ValueError, f"MODC_FALLBACK_POLICY: 'ALL' is no policy: {names}", of, MODC_FALLBACK_POLICY="ALL")
        self.raises(ValueError, "MODC_FALLBACK_POLICY is 256, which is no sum of policies: from 1 to 255", of,
                    MODC_FALLBACK_POLICY="256")
        self.raises(ValueError, "MODC_FALLBACK_RETRY is 'maybe', not 1 or 0", of, MODC_FALLBACK_RETRY="maybe")


class Messages(Case):
    def test_data(self):
        model, other, net = strict(Mlp)
        kinds = "tensors, numbers, strings, None, and lists, tuples and dicts of them"
        self.raises(modc.ModuleIOError, f"args[0] is a object; modc.Module takes {kinds}", net, object())
        self.raises(modc.ModuleIOError, f"kwargs['x'][0] is a set; modc.Module takes {kinds}", net, x=[set()])

        class Mine(torch.Tensor):
            pass
        self.raises(modc.ModuleIOError, "args[0] is a Mine; modc.Module takes plain tensors", net, torch.ones(2, 4).as_subclass(Mine))
        self.raises(modc.ModuleIOError, "tensor 0 of the arguments is torch.sparse_coo; modc.Module takes dense tensors", net,
                    torch.ones(2, 4).to_sparse())
        self.raises(modc.ModuleDeviceException, "tensor 0 of the arguments lies on meta; modc.Module computes on the CPU", net,
                    torch.ones(2, 4, device="meta"))

    def test_results(self):
        class Odd(nn.Module):
            def forward(self, x):
                return {"x": x * 2, "odd": {1}}
        model, other, net = strict(Odd)
        self.raises(modc.ModuleIOError, "the result['odd'] is a set; modc.Module gives tensors, numbers, strings, None, and lists, tuples "
                    "and dicts of them", net, torch.ones(2))

    def test_changed_meanwhile(self):
        model, other, net = strict(Mlp)
        with mock.patch.object(modules.Held, "look", lambda held: modules.CHANGED):
            self.raises(modc.ModuleTorchModelException, "the model gets other tensors or modules while modc.Module reads which it has",
                        net, torch.randn(5, 4))
        x = torch.randn(5, 4)
        self.same(net(x), other(x))

    def test_devices(self):
        model, other, net = strict(Mlp)
        net.to("meta")
        self.raises(modc.ModuleDeviceException, "the model lies on meta; modc.Module computes on the CPU", net, torch.ones(2, 4))
        model, other, net = strict(Mlp)
        net.a.to("meta")
        self.raises(modc.ModuleDeviceException, "the model lies on several devices: cpu, meta; modc.Module takes one, the CPU", net,
                    torch.ones(2, 4))

    def test_models(self):
        model, other, net = strict(Grows)
        self.raises(modc.ModuleTorchModelException, "forward changes the attribute 'calls' of module '', which the spec does not have\n"
                    "hint: what goes on from call to call is a buffer", net, torch.ones(2, 4))
        self.assertEqual(model.calls, 0)

        class Through(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x.sign()

            @staticmethod
            def backward(context, gradient):
                return gradient

        class Straight(nn.Module):
            def forward(self, x):
                return Through.apply(x)
        model, other, net = strict(Straight)
        x = torch.ones(2, 4)
        self.assertTrue(torch.equal(net(x), x))  # without a backward nothing is lost
        self.raises(modc.ModuleTorchModelException, "Through has a backward that is not that of its forward, which modc "
                    "differentiates\nhint: a function y whose gradient is that of x is x + (y - x).detach()", net,
                    x.clone().requires_grad_())

        class Squared(torch.autograd.Function):
            @staticmethod
            def forward(context, x, factor):
                context.save_for_backward(x)
                context.factor = factor
                return x * x * factor

            @staticmethod
            def backward(context, gradient):
                x, = context.saved_tensors
                return gradient * 2 * x * context.factor, None

        class Saving(nn.Module):
            def forward(self, x):
                return Squared.apply(x, 3.0)
        model, other, net = strict(Saving)
        x = torch.tensor([[1.0, -2.0]], requires_grad=True)
        net(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [[6.0, -12.0]])

        class Keeps(nn.Module):
            def forward(self, x):
                self.last = x * 2
                return self.last
        model, other, net = strict(Keeps)
        self.raises(modc.ModuleTorchModelException, "forward keeps a tensor in an attribute, which the spec does not have\n"
                    "hint: what goes on from call to call is a buffer", net, torch.ones(2, 4))

        class InPlace(nn.Module):
            def forward(self, x):
                x += 1
                return x
        model, other, net = strict(InPlace)
        x = torch.ones(2)
        self.raises(modc.ModuleTorchModelException, "forward changes an argument in place; modc.Module gives results alone", net, x)
        self.same(x, torch.ones(2))

    def test_autocast(self):
        model, other, net = strict(Mlp)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.raises(modc.ModuleTorchModelException, "autocast is enabled, which modc.Module does not follow: convert the model by "
                        ".bfloat16() or .half() instead, or leave autocast for this call", net, torch.ones(2, 4))
        self.same(net(torch.ones(2, 4)), other(torch.ones(2, 4)))

    def test_wrong_numbers(self):
        """A spec that is not the model is found at the first call, and nothing of the call stays."""
        model, other, net = strict(Net)
        make = net._modc.libraries.make
        net._modc.libraries.make = lambda text, *more: make(text.replace("relu", "tanh"), *more)
        with self.assertRaisesRegex(modc.ModuleSpecException, r"^result 0 of the compiled module is \S+ from PyTorch's, over 1e-03$"):
            net(torch.randn(3, 4))
        self.assertEqual(int(model.bn.num_batches_tracked), 0)
        self.same(model.bn.running_mean, torch.zeros(6))

    def test_signs_of_rounding(self):
        """Statistics of two values: PyTorch's own float32 is as far from the truth, and that is no fault."""
        class Signs(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.bn = nn.Linear(64, 64), nn.BatchNorm1d(64, eps=1e-30)

            def forward(self, x):
                return self.bn(self.a(x))
        model, other, net = strict(Signs)
        x = torch.randn(1, 64).expand(2, 64) + torch.randn(2, 64) * 1e-7
        self.assertTrue(bool(torch.isfinite(net(x)).all()))

    def test_compiler(self):
        model, other, net = strict(Mlp)
        net._modc.libraries.cc = "no-such-compiler"
        self.raises(modc.ModuleSpecException, "the compiler 'no-such-compiler' cannot be started: No such file or directory\n"
                    "hint: $CC and $CFLAGS, or cc= and cflags=, say which one is used", net, torch.ones(2, 4))

    def test_many(self):
        model, other, net = strict(Mlp)
        net._modc.libraries.known = dict.fromkeys(range(15))
        self.warned("modc.Module has compiled 16 variants of this module: each new set of types and of numbers that are no tensors makes "
                    "one", net, torch.ones(2, 4))


class Options(Case):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            options = modc.DebugOptions(save=True, prefix="mlp", save_path=folder)
            model, other, net = strict(Mlp, debug=options)
            net(torch.ones(2, 4))
            with torch.no_grad():
                modc.Module(other, debug=options, cflags="-O0")(torch.ones(2, 4))
                modc.Module(other, debug=options, cflags="-O0")(torch.ones(3, 4))
            stages = ("emitted_{}.c", "emitted_{}.h", "exported_{}.yaml", "graph_{}.txt", "plan_{}.txt")
            modes = ("training", "inference", "inference_2")
            self.assertEqual(sorted(os.listdir(folder)), sorted(f"mlp_{stage.format(mode)}" for mode in modes for stage in stages))
            self.assertIn("\nmodel: mlp\n", Path(folder, "mlp_exported_training.yaml").read_text())
            self.assertIn("forward_eval", Path(folder, "mlp_plan_inference.txt").read_text())

    def test_log(self):
        model, other, net = strict(Mlp, debug=modc.DebugOptions(log_level=modc.LogLevel.INFO))
        before, sys.stderr = sys.stderr, io.StringIO()
        try:
            net(torch.ones(2, 4))
            text = sys.stderr.getvalue()
        finally:
            sys.stderr = before
        self.assertRegex(text, r"^modc: training, training mode: \d+ lines of spec, compiled in \d+\.\d\d s: /.*\n$")

    def test_faults(self):
        self.raises(TypeError, "log_level is a int, not a modc.LogLevel", modc.DebugOptions, 2)
        self.raises(TypeError, "prefix is a int, not a string", modc.DebugOptions, prefix=3)
        self.raises(ValueError, "save needs a prefix: what the files' names begin with", modc.DebugOptions, save=True)
        self.raises(OSError, "save_path: /nowhere is no folder that can be written to", modc.DebugOptions, save=True, prefix="x",
                    save_path="/nowhere")
        os.environ["MODC_LOG_LEVEL"] = "LOUD"
        try:
            self.raises(ValueError, f"MODC_LOG_LEVEL is 'LOUD', not one of {', '.join(modc.LogLevel.__members__)}", modc.DebugOptions)
            os.environ["MODC_LOG_LEVEL"] = "ERROR"
            self.assertEqual(modc.DebugOptions().log_level, modc.LogLevel.ERROR)
        finally:
            del os.environ["MODC_LOG_LEVEL"]
        self.assertEqual((modc.LogLevel.DEVINFO, modc.LogLevel.INFO), (1, 1))


if __name__ == "__main__":
    unittest.main()
