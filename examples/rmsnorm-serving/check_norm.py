# SPDX-License-Identifier: Apache-2.0
"""Holds the variant named by NORM against a float32 reference, on the shapes that the serving loop uses.
Exit status 0: all within bf16's rounding; 1: a difference, with the shape and the size of it."""
import os

import torch

import norms
from model import HIDDEN

SHAPES = [1, 5, 8, 16, 32, 40, 48, 64, 96, 128, 192, 256]


def main():
    variant = os.environ.get("NORM", "stock")
    norm = norms.make(variant)
    torch.manual_seed(3)
    for rows in SHAPES:
        residual = torch.randn(rows, HIDDEN, device="cuda", dtype=torch.bfloat16)
        update = torch.randn(rows, HIDDEN, device="cuda", dtype=torch.bfloat16)
        weight = torch.randn(HIDDEN, device="cuda", dtype=torch.bfloat16)
        total = (residual + update)
        wide = total.float()
        expected = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + norms.EPSILON) * weight.float()
        got = norm(residual, update, weight)
        # bf16 keeps 8 bits: one unit in the last place is 2^-8 of the value; two roundings are allowed for.
        wrong = (got.float() - expected).abs() > expected.abs() * 2**-6 + 1e-3
        if wrong.any() or not torch.equal(residual, total):
            raise SystemExit(f"check_norm: {variant} differs at {rows} rows in {int(wrong.sum())} values")
    print(f"check_norm: {variant} agrees on {len(SHAPES)} shapes")


if __name__ == "__main__":
    main()
