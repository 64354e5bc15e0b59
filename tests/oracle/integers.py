"""modc's own functions of integers, in PyTorch's."""
import torch


def requantize(input, multiplier, shift):
    """MultiplyByQuantizedMultiplier of TensorFlow Lite: saturating rounding doubling high multiply, then a rounding division by 2**shift,
    whose ties go away from zero. int32, `shift` from 0 to 31."""
    high = torch.bitwise_right_shift(input.long() * multiplier + 2 ** 30, 31).clamp(max=2 ** 31 - 1)
    shift = torch.as_tensor(shift).long()
    half = torch.bitwise_left_shift(torch.ones_like(shift), shift) // 2
    return torch.bitwise_right_shift(high + half - ((high < 0) & (half != 0)).long(), shift).to(torch.int32)
