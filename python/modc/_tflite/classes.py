"""Classes and functions of the specs, in PyTorch's statements over integers: what the reference kernels compute.

Images are (batch, height, width, channels) for whoever calls a class, as in the file. What lies outside an image is the zero point,
since the kernels step over it. x.int() - zero, as it is, and weight.int() are read as int8 by convolutions and linear, and
requantize multiplies in fixed point as the kernels do (docs/language.md, Integers of 8 bits). Shifts of channels are to the right; below
0, where the module is told that there is a `larger` one, to the left.
"""

FUNCTIONS = {
    "high_product": """def high_product(a, b):
    return torch.bitwise_right_shift(a * b + 2 ** 30, 31)""",
    "scaled": """def scaled(x, multiplier, shift):
    if shift > 0:
        return requantize(x * 2 ** shift, multiplier, 0)
    return requantize(x, multiplier, -shift)""",
    "scaled_by_channel": """def scaled_by_channel(x, multiplier, shift, larger):
    if larger:
        x = torch.bitwise_left_shift(x, (-shift).clamp(min=0))
        shift = shift.clamp(min=0)
    return requantize(x, multiplier, shift)""",
    "reciprocal": """def reciprocal(a):
    half = torch.bitwise_right_shift(a + 2 ** 31, 1)
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        x = x + 4 * high_product(x, 2 ** 29 - high_product(half, x))
    return (2 * x).clamp(max=2 ** 31 - 1)""",
    "window_sums": """def window_sums(x, kernel, stride, pad):
    x = F.pad(x, (0, 0, pad[2], pad[3], pad[0], pad[1]))
    return x.unfold(1, kernel[0], stride[0]).unfold(2, kernel[1], stride[1]).sum((-2, -1)).int()""",
}

CLASSES = {
    "Conv2dInt8": """\
Conv2dInt8(cin, cout, kernel, stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1), groups=1, zero=0, out_zero=0,
           low=-128, high=127, larger=False)
buffers:
  weight: {shape: "[cout, cin // groups, kernel[0], kernel[1]]", dtype: int8}
  bias: {shape: [cout], dtype: int32}
  multiplier: {shape: [cout], dtype: int32}
  shift: {shape: [cout], dtype: int32}
forward(x): |
  x = x.permute(0, 3, 1, 2)
  padding = (pad[0], pad[2])
  if pad[0] != pad[1] or pad[2] != pad[3]:
      x = F.pad(x, (pad[2], pad[3], pad[0], pad[1]), value=zero)
      padding = (0, 0)
  if dilation == (1, 1):
      x = F.conv2d(x.int() - zero, self.weight.int(), self.bias, stride, padding, groups=groups)
  else:
      x = F.conv2d(x.long() - zero, self.weight.long(), None, stride, padding, dilation, groups).int() + self.bias.view(-1, 1, 1)
  x = scaled_by_channel(x, self.multiplier.view(-1, 1, 1), self.shift.view(-1, 1, 1), larger) + out_zero
  return x.clamp(low, high).to(torch.int8).permute(0, 2, 3, 1)""",
    "LinearInt8": """\
LinearInt8(fin, fout, multiplier, shift, zero=0, weight_zero=0, out_zero=0, low=-128, high=127)
buffers:
  weight: {shape: [fout, fin], dtype: int8}
  bias: {shape: [fout], dtype: int32}
forward(x): |
  weight = self.weight.int()
  if weight_zero != 0:
      weight = weight - weight_zero
  x = F.linear(x.int() - zero, weight, self.bias)
  return (scaled(x, multiplier, shift) + out_zero).clamp(low, high).to(torch.int8)""",
    "LinearByChannelInt8": """\
LinearByChannelInt8(fin, fout, zero=0, out_zero=0, low=-128, high=127, larger=False)
buffers:
  weight: {shape: [fout, fin], dtype: int8}
  bias: {shape: [fout], dtype: int32}
  multiplier: {shape: [fout], dtype: int32}
  shift: {shape: [fout], dtype: int32}
forward(x): |
  x = F.linear(x.int() - zero, self.weight.int(), self.bias)
  x = scaled_by_channel(x, self.multiplier, self.shift, larger) + out_zero
  return x.clamp(low, high).to(torch.int8)""",
    "AddInt8": """\
AddInt8(zeros, multipliers, shifts, multiplier, shift, out_zero=0, low=-128, high=127)
forward(a, b): |
  a = scaled((a.int() - zeros[0]) * 2 ** 20, multipliers[0], shifts[0])
  b = scaled((b.int() - zeros[1]) * 2 ** 20, multipliers[1], shifts[1])
  return (scaled(a + b, multiplier, shift) + out_zero).clamp(low, high).to(torch.int8)""",
    "MulInt8": """\
MulInt8(zeros, multiplier, shift, out_zero=0, low=-128, high=127)
forward(a, b): |
  x = (a.int() - zeros[0]) * (b.int() - zeros[1])
  return (scaled(x, multiplier, shift) + out_zero).clamp(low, high).to(torch.int8)""",
    "AvgPool2dInt8": """\
AvgPool2dInt8(kernel, stride, pad=(0, 0, 0, 0), low=-128, high=127)
forward(x): |
  n = kernel[0] * kernel[1]
  if pad != (0, 0, 0, 0):
      n = window_sums(torch.ones(1, x.shape[1], x.shape[2], 1, dtype=torch.int8), kernel, stride, pad)
  x = window_sums(x, kernel, stride, pad)
  x = torch.div(x + torch.where(x > 0, n // 2, -(n // 2)).int(), n, rounding_mode='trunc')
  return x.clamp(low, high).to(torch.int8)""",
    "MaxPool2dInt8": """\
MaxPool2dInt8(kernel, stride, pad=(0, 0, 0, 0), low=-128, high=127)
forward(x): |
  x = x.permute(0, 3, 1, 2)
  if pad != (0, 0, 0, 0):
      x = F.pad(x, (pad[2], pad[3], pad[0], pad[1]), value=-128)
  return F.max_pool2d(x, kernel, stride).permute(0, 2, 3, 1).clamp(low, high)""",
    "MeanInt8": """\
MeanInt8(dim, keepdim, offset, multiplier, shift, out_zero=0)
forward(x): |
  x = (x.sum(dim, keepdim=keepdim) - offset).int()
  return (scaled(x, multiplier, shift) + out_zero).clamp(-128, 127).to(torch.int8)""",
    "SoftmaxInt8": """\
SoftmaxInt8()
buffers:
  exp: {shape: [256], dtype: int32}
forward(x): |
  x = x.long()
  e = self.exp[x.amax(-1, keepdim=True) - x].long()
  total = torch.bitwise_right_shift(e + 2048, 12).sum(-1, keepdim=True)
  over = (total >= 2 ** torch.arange(20, 31)).sum(-1, keepdim=True)
  scale = reciprocal(torch.bitwise_left_shift(total, 12 - over) - 2 ** 31)
  x = torch.bitwise_right_shift(high_product(scale, e) + torch.bitwise_left_shift(1, over + 22), over + 23)
  return (x - 128).clamp(max=127).to(torch.int8)""",
    "TableInt8": """\
TableInt8(first=-128)
buffers:
  table: {shape: [256], dtype: int8}
forward(x): |
  return self.table[x.long() - first]""",
    "TableUint8": """\
TableUint8()
buffers:
  table: {shape: [256], dtype: uint8}
forward(x): |
  return self.table[x.long() + 128]""",
    "QuantizeInt8": """\
QuantizeInt8(scale, zero)
forward(x): |
  x = x / scale
  whole = x.trunc()
  x = whole + torch.where((x - whole).abs() >= 0.5, x.sign(), 0.0)
  return (x.clamp(-512.0, 512.0).int() + zero).clamp(-128, 127).to(torch.int8)""",
    "DequantizeInt8": """\
DequantizeInt8(scale, zero)
forward(x): |
  return (x.int() - zero).float() * scale""",
}


def called_in(text):
    """The functions that a text calls."""
    return [name for name in FUNCTIONS if f"{name}(" in text]


def functions_of(names):
    """The text of the classes' functions and of those that these call, in the order above."""
    wanted, todo = set(), [text for name in names for text in called_in(CLASSES[name])]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += called_in(FUNCTIONS[name])
    return [text for name, text in FUNCTIONS.items() if name in wanted]
