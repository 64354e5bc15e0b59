"""modc.LLM as a policy of torchrl: keys, TensorDicts in and out, distributions. PyTorch, tensordict and torchrl are imported where
a method needs them."""
import sys
import weakref


def is_tensordict(value):
    """Whether it is one, without importing anything."""
    tensordict = sys.modules.get("tensordict")
    return tensordict is not None and tensordict.is_tensor_collection(value)


def needed(name, of):
    """A module that the user has to have installed."""
    from importlib import import_module
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{of}() needs the package {name.split('.')[0]}") from None


def plain_key(key):
    """As tensordict has keys: a string, or a tuple of several."""
    if isinstance(key, str):
        return key
    parts = tuple(part for one in key for part in ([one] if isinstance(one, str) else plain_key(one)))
    return parts[0] if len(parts) == 1 else parts


def container(name, of):
    """torchrl's class of this name."""
    return getattr(needed("torchrl.modules.llm.policies.common", of), name)


def of_rows(td, key, torch):
    """What each row of a TensorDict has there, as a list of tensors; None: nothing."""
    value = td.get(key, None, as_list=True)
    if value is None or isinstance(value, torch.Tensor):
        return None if value is None else list(value)
    return None if any(row is None for row in value) else list(value)


def strings(value):
    value = value.tolist() if hasattr(value, "tolist") else value
    return [value] if isinstance(value, str) else list(value)


def turns_in(history):
    """A History of torchrl's as dicts; roles <none> stand for turns that are not there."""
    if any(getattr(history, name, None) is not None for name in ("tool_calls", "tool_responses")):
        raise NotImplementedError("forward(): templates read no calls of tools")
    return [{"role": role, "content": content} for role, content in zip(strings(history.role), strings(history.content))
            if role != "<none>"]


def turns_out(turns):
    history = getattr(needed("torchrl.data.llm", "forward"), "History")
    return history(role=[turn["role"] for turn in turns], content=[turn["content"] for turn in turns], batch_size=[len(turns)])


class Policy:
    """What torchrl's LLMWrapperBase has beside writing."""

    def _begin_policy(self, input_key):
        part = "prompt" if self.writes else "full"
        self.input_key = plain_key(input_key if input_key is not None else (self.input_mode, part))
        self.in_keys = [self.input_key]
        keys = [self.text_key] if self.input_mode != "tokens" else []
        keys += [self.masks_key, self.tokens_key] + ([self.log_probs_key] if self.return_log_probs else [])
        keys += [self.history_key] if self.input_mode == "history" else []
        self.out_keys_source = [plain_key(key) for key in keys]
        self.out_keys = list(self.out_keys_source)
        self.log_prob_keys = ["log_probs"]
        self._collector = None

    def _copy_policy(self, other):
        """What is no argument of the constructor."""
        self._collector, self.log_prob_keys = other._collector, list(other.log_prob_keys)
        selected = [key for key in self.out_keys_source if key in other.out_keys]
        if len(other.out_keys) < len(other.out_keys_source):
            self.out_keys = selected

    # -- keys

    def select_out_keys(self, *out_keys):
        """Only these are written from now on; reset_out_keys() has all again. Returns itself."""
        keys = [plain_key(key) for key in out_keys]
        missing = [key for key in keys if key not in self.out_keys]
        if missing:
            error = ValueError if len(keys) == 1 else RuntimeError
            raise error(f"select_out_keys(): there is no {missing[0]!r} in {self.out_keys}")
        self.out_keys = [key for key in self.out_keys if key in keys]
        return self

    def reset_out_keys(self):
        self.out_keys = list(self.out_keys_source)
        return self

    @staticmethod
    def is_tdmodule_compatible(module):
        """Whether it reads and writes keys of a TensorDict."""
        return hasattr(module, "in_keys") and hasattr(module, "out_keys")

    def register_collector(self, collector):
        """Who collects with it; it is not kept alive."""
        self._collector = weakref.ref(collector)

    @property
    def collector(self):
        return self._collector() if self._collector is not None else None

    @property
    def dist_params_keys(self):
        raise NotImplementedError("dist_params_keys: there are none")

    @property
    def dist_sample_keys(self):
        return ["tokens_response"]

    def as_module(self):
        """Itself as a torch.nn.Module, for what takes nothing else, such as TensorDictSequential."""
        base = needed("tensordict.nn", "as_module").TensorDictModuleBase

        class Module(base):
            def __init__(self, llm):
                super().__init__()
                self.llm, self.in_keys, self.out_keys = llm, list(llm.in_keys), list(llm.out_keys)
                self.get_dist, self.log_prob, self.register_collector = llm.get_dist, llm.log_prob, llm.register_collector

            def forward(self, tensordict, **kwargs):
                return self.llm.forward(tensordict, **kwargs)

        return Module(self)

    # -- TensorDicts in

    def _masks_in(self, td, rows, torch):
        """The mask of each row, where the TensorDict has one of the ids' length."""
        for key in (("masks", "all_attention_mask"), self.attention_mask_key):
            masks = of_rows(td, key, torch)
            if masks is not None:
                return [mask.tolist() for mask in masks]
        dense = len(rows) > 1 and len({len(row) for row in rows}) == 1
        if dense and any(self.pad_token_id in (row[0], row[-1]) for row in rows if row):
            raise ValueError(f"forward(): rows of {self.input_key!r} begin or end with the pad id {self.pad_token_id}, and there "
                             f"is no ('masks', 'all_attention_mask') or {self.attention_mask_key!r} that says whether it is a "
                             "token")
        return None

    def _given(self, td, torch):
        """Of a TensorDict of rank 1: what generate and score take, and the mask."""
        if self.input_key not in td:
            raise ValueError(f"forward(): there is no {self.input_key!r} for input_mode={self.input_mode!r}, but "
                             f"{sorted(map(str, td.keys(True)))}")
        if self.input_mode == "text":
            return strings(td.get(self.input_key)), None
        if self.input_mode == "history":
            return [turns_in(row) for row in td.get(self.input_key).unbind(0)], None
        rows = [row.tolist() for row in of_rows(td, self.input_key, torch)]
        return rows, self._masks_in(td, rows, torch)

    # -- TensorDicts out

    def _containers(self, result, at):
        """By key: the containers of one row, whose place in the results `at` finds."""
        from tensordict import TensorDict
        made = {}
        for key, part, name in ((self.text_key, result.text, "Text"), (self.masks_key, result.masks, "Masks"),
                                (self.tokens_key, result.tokens, "Tokens"), (self.log_probs_key, result.log_probs, "LogProbs"),
                                (self.history_key, result.history, "ChatHistory")):
            if part is None:
                continue
            value = container(name, "forward")._from_tensordict(TensorDict({}, []))
            for field in ("prompt", "response", "full", "all_attention_mask", "all_assistant_mask"):
                if hasattr(part, field):
                    rows = getattr(part, field)
                    row = at(rows) if rows is not None else None
                    setattr(value, field, turns_out(row) if name == "ChatHistory" and row is not None else row)
            if hasattr(part, "padded"):
                from tensordict import MetaData
                value.padded = MetaData(part.padded)
            made[plain_key(key)] = value
        return made

    def _row(self, result, at):
        from tensordict import TensorDict
        row = TensorDict({}, [])
        for key, value in self._containers(result, at).items():
            if key in self.out_keys:
                row.set(key, value)
        return row

    def _stacked(self, result, rows):
        """A lazy stack of the results' rows, with a second dimension for samples."""
        from tensordict import lazy_stack
        if self.num_samples is None or not self.writes:
            return lazy_stack([self._row(result, lambda part, i=i: part[i]) for i in range(rows)])
        return lazy_stack([lazy_stack([self._row(result, lambda part, i=i, k=k: part[i][k]) for k in range(self.num_samples)])
                           for i in range(rows)])

    def forward(self, tensordict, *, tensordict_out=None, logits_only=False, **kwargs):
        """As torchrl's wrappers: reads in_keys, writes out_keys, into the TensorDict itself, a new one or an empty one, as
        `inplace` says. kwargs: options of generation for this call. logits_only: `logits` instead of log-probabilities, with
        generate=False."""
        torch = needed("torch", "forward")
        needed("tensordict", "forward")
        if tensordict_out is not None and tensordict.ndim != 1:
            raise ValueError(f"forward() takes tensordict_out for one dimension, not {tensordict.ndim}")
        flat = tensordict
        if tensordict.ndim != 1:
            flat = tensordict.unsqueeze(0) if tensordict.ndim == 0 else tensordict.reshape(-1)
        if 0 in tensordict.shape:
            raise ValueError("forward(): the TensorDict has no element")
        made = self._compute(flat.to_lazystack(0), torch, logits_only, kwargs)
        if tensordict.ndim == 0:
            made = made[0]
        elif tensordict.ndim > 1:
            made = made.view(*tensordict.shape, *made.shape[1:])
        return self._put(tensordict, tensordict_out, made, logits_only)

    def _compute(self, td, torch, logits_only, kwargs):
        arrays, self_arrays = "torch", self.arrays
        given, mask = self._given(td, torch)
        version = self if self_arrays == arrays else self._with_arrays(arrays)
        if self.writes:
            result = version.generate(given, **({} if mask is None else {"attention_mask": mask}), **kwargs)
            return self._stacked(result, len(given))
        if kwargs:
            raise TypeError(f"forward() with generate=False takes no options of generation, found {sorted(kwargs)[0]}")
        result = version.score(given, attention_mask=mask)
        if result.masks.all_assistant_mask is None:
            result.masks.all_assistant_mask = of_rows(td, ("masks", "all_assistant_mask"), torch)
        made = self._stacked(result, len(given))
        if logits_only:
            for row, logits in zip(made.unbind(0), self._logits_of(version, result, given, mask)):
                row.set("logits", logits)
        return made

    def _with_arrays(self, arrays):
        """A view of itself that gives PyTorch's tensors."""
        from copy import copy
        version = copy(self)
        version.arrays = arrays
        return version

    def _logits_of(self, version, result, given, mask):
        """Of each row, with zeros where a padded row has nothing."""
        import torch
        rows = version.logits(given, attention_mask=mask, name="get_dist")
        if not self.pad_output:
            return rows
        width = result.tokens.full.shape[-1]
        return [torch.nn.functional.pad(row, (0, 0, width - row.shape[0], 0)) for row in rows]

    def _put(self, tensordict, tensordict_out, made, logits_only):
        if tensordict_out is None:
            if self.inplace is False:
                return made
            tensordict_out = tensordict if self.inplace is True else tensordict.empty()
        keys = [*self.out_keys, *(["logits"] if logits_only else [])]
        result = tensordict_out.exclude(*keys, inplace=True)
        result.update(made, keys_to_update=keys)
        return result

    # -- distributions

    def _needs_scoring(self, name):
        if self.writes:
            raise NotImplementedError(f"{name}() is for generate=False: get_new_version(generate=False) has it")

    def _scored(self, tensordict, name):
        """A TensorDict of rank 1 with logits, beside it."""
        self._needs_scoring(name)
        torch = needed("torch", name)
        return torch, self._compute(tensordict.to_lazystack(0), torch, True, {})

    @staticmethod
    def _padded(rows, side, fill):
        from torchrl.modules.llm.policies.common import pad_sequence
        return pad_sequence(list(rows), batch_first=True, padding_value=fill, padding_side=side)

    def _dist(self, logits, masks, side):
        """Logits and masks of rows, as a categorical distribution that is 0 where the mask is."""
        masked = getattr(needed("torchrl.modules.distributions", "get_dist"), "LLMMaskedCategorical")
        for i, (row, mask) in enumerate(zip(logits, masks)):
            if row.shape[0] != mask.shape[-1]:
                raise ValueError(f"get_dist(): row {i} has {row.shape[0]} tokens and a mask of {mask.shape[-1]}")
        return masked(logits=self._padded(logits, side, 0.0), mask=self._padded([mask.bool() for mask in masks], side, False))

    def get_dist(self, tensordict, tensordict_out=None, logits_key="logits", mask_key=None, as_padded_tensor=None,
                 as_nested_tensor=None, padding_value=None, padding_side="right", layout=None, **_):
        """The distribution of each token of full, at mask_key's positions, else at all that are tokens."""
        self._needs_scoring("get_dist")
        if as_nested_tensor:
            raise NotImplementedError("get_dist(): PyTorch has no categorical distribution of nested tensors")
        torch, made = self._scored(tensordict, "get_dist")
        logits = made.get(logits_key, as_list=True)
        key = mask_key if mask_key is not None else (self.masks_key, "all_attention_mask")
        masks = of_rows(made, key, torch) or of_rows(tensordict.to_lazystack(0), key, torch)
        if masks is None:
            raise ValueError(f"get_dist(): there is no mask {key!r}")
        return self._dist(logits, masks, padding_side)

    def _get_dist_with_prompt_mask(self, tensordict, tokens_key=("tokens", "prompt"), logits_key="logits",
                                   assistant_mask_key=("masks", "all_assistant_mask"),
                                   attention_mask_key=("masks", "all_attention_mask"), padding_side="left", **_):
        """Of what stands behind tokens_key's tokens; where there are none, of the assistant's tokens."""
        torch, made = self._scored(tensordict, "get_dist_with_prompt_mask")
        prompts = of_rows(tensordict.to_lazystack(0), tokens_key, torch)
        if prompts is None:
            return self._get_dist_with_assistant_mask(tensordict, assistant_mask_key, logits_key, padding_side)
        masks = [mask.clone() for mask in of_rows(made, attention_mask_key, torch)]
        for mask, prompt in zip(masks, prompts):
            mask[..., :prompt.shape[-1]] = False
        return self._dist(made.get(logits_key, as_list=True), masks, padding_side)

    def _get_dist_with_assistant_mask(self, tensordict, assistant_mask_key=("masks", "all_assistant_mask"), logits_key="logits",
                                      padding_side="left", **_):
        torch, made = self._scored(tensordict, "get_dist_with_assistant_mask")
        masks = of_rows(tensordict.to_lazystack(0), assistant_mask_key, torch)
        if masks is None:
            raise ValueError(f"get_dist(): there is no mask {assistant_mask_key!r}")
        return self._dist(made.get(logits_key, as_list=True), masks, padding_side)

    def _get_dist_with_attention_mask(self, tensordict, attention_mask_key=("masks", "all_attention_mask"), logits_key="logits",
                                      padding_side="left", **_):
        torch, made = self._scored(tensordict, "get_dist_with_attention_mask")
        return self._dist(made.get(logits_key, as_list=True), of_rows(made, attention_mask_key, torch), padding_side)

    def _get_dist_with_custom_mask(self, tensordict, mask, logits_key="logits", padding_side="left", **_):
        """mask: (rows, positions), of the rows as they are padded on padding_side."""
        masked = getattr(needed("torchrl.modules.distributions", "get_dist"), "LLMMaskedCategorical")
        _, made = self._scored(tensordict, "get_dist_with_custom_mask")
        return masked(logits=self._padded(made.get(logits_key, as_list=True), padding_side, 0.0), mask=mask)

    def _get_sft_dist(self, tensordict, **kwargs):
        return self._get_dist_with_prompt_mask(tensordict, **kwargs)

    def _get_rlhf_dist(self, tensordict, **kwargs):
        return self._get_dist_with_assistant_mask(tensordict, **kwargs)

    def _get_generic_dist(self, tensordict, **kwargs):
        return self._get_dist_with_attention_mask(tensordict, **kwargs)

    def log_prob(self, data, **get_kwargs):
        """The log-probabilities of full, of a TensorDict."""
        if self.writes:
            raise RuntimeError("log_prob() is for generate=False: get_new_version(generate=False) has it")
        return self(data).get((self.log_probs_key, "full"), **get_kwargs)
