"""Functions of the spec that operators need which are no function of PyTorch, by name."""

HELPERS = {
    "from_end": """def from_end(index, extent):
    return torch.where(index < 0, index + extent, index)""",
    "hardmax": """def hardmax(x, dim: int):
    largest = torch.argmax(x, dim=dim, keepdim=True)
    return torch.zeros_like(x).scatter(dim, largest, torch.ones_like(x))""",
    "reverse_sequence": """def reverse_sequence(x, lengths, time: int):
    steps = torch.arange(x.shape[time])
    if time == 0:
        steps = steps[:, None]
        ends = lengths[None]
    else:
        steps = steps[None]
        ends = lengths[:, None]
    source = torch.where(steps < ends, ends - 1 - steps, steps)
    shape = source.shape
    for _ in range(x.ndim - 2):
        source = source.unsqueeze(-1)
    return torch.gather(x, time, source.expand(x.shape))""",
    "onnx_rnn": """def onnx_rnn(x, w, r, b, h, rectified: bool):
    size = r.shape[-1]
    ys = []
    for t in range(x.shape[0]):
        h = x[t] @ w.T + h @ r.T + b[:size] + b[size:]
        h = F.relu(h) if rectified else torch.tanh(h)
        ys.append(h)
    return torch.stack(ys), h""",
    "onnx_gru": """def onnx_gru(x, w, r, b, h, reset_behind: bool):
    n = r.shape[-1]
    ys = []
    for t in range(x.shape[0]):
        gates = x[t] @ w.T + b[:3 * n]
        turned = h @ r[:2 * n].T + b[3 * n:5 * n]
        z = torch.sigmoid(gates[:, :n] + turned[:, :n])
        reset = torch.sigmoid(gates[:, n:2 * n] + turned[:, n:])
        if reset_behind:
            new = torch.tanh(gates[:, 2 * n:] + reset * (h @ r[2 * n:].T + b[5 * n:]))
        else:
            new = torch.tanh(gates[:, 2 * n:] + (reset * h) @ r[2 * n:].T + b[5 * n:])
        h = (1 - z) * new + z * h
        ys.append(h)
    return torch.stack(ys), h""",
    "onnx_lstm": """def onnx_lstm(x, w, r, b, h, c, p):
    n = r.shape[-1]
    ys = []
    for t in range(x.shape[0]):
        gates = x[t] @ w.T + h @ r.T + b[:4 * n] + b[4 * n:]
        i = torch.sigmoid(gates[:, :n] + p[:n] * c)
        f = torch.sigmoid(gates[:, 2 * n:3 * n] + p[2 * n:] * c)
        c = f * c + i * torch.tanh(gates[:, 3 * n:])
        o = torch.sigmoid(gates[:, n:2 * n] + p[n:2 * n] * c)
        h = o * torch.tanh(c)
        ys.append(h)
    return torch.stack(ys), h, c""",
}
