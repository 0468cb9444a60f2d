# SPDX-License-Identifier: Apache-2.0
"""A random-weight decoder-only transformer, just large enough that serving it is real work: weights are read from
DRAM, attention reads a key-value cache, and a normalisation runs twice per layer."""
import torch
import torch.nn.functional as functional

HIDDEN = 8192
HEADS = 64
HEAD_SIZE = HIDDEN // HEADS
KEY_VALUE_HEADS = 8
FEED_FORWARD = 22016
VOCABULARY = 32000
MAX_LENGTH = 512


class Model:
    def __init__(self, norm, layers, slots, device="cuda", seed=7):
        generator = torch.Generator(device=device).manual_seed(seed)

        def weight(*shape):
            return torch.randn(*shape, generator=generator, device=device, dtype=torch.bfloat16) * 0.02

        self.norm = norm
        self.slots = slots
        self.embedding = weight(VOCABULARY, HIDDEN)
        key_value = KEY_VALUE_HEADS * HEAD_SIZE
        self.layers = [
            dict(
                attention_norm=torch.ones(HIDDEN, device=device, dtype=torch.bfloat16),
                feed_norm=torch.ones(HIDDEN, device=device, dtype=torch.bfloat16),
                query_key_value=weight(HIDDEN + 2 * key_value, HIDDEN),
                attention_out=weight(HIDDEN, HIDDEN),
                gate_up=weight(2 * FEED_FORWARD, HIDDEN),
                down=weight(HIDDEN, FEED_FORWARD),
                keys=torch.zeros(slots, KEY_VALUE_HEADS, MAX_LENGTH, HEAD_SIZE, device=device, dtype=torch.bfloat16),
                values=torch.zeros(slots, KEY_VALUE_HEADS, MAX_LENGTH, HEAD_SIZE, device=device, dtype=torch.bfloat16),
            ) for _ in range(layers)
        ]
        self.final_norm = torch.ones(HIDDEN, device=device, dtype=torch.bfloat16)
        self.positions = torch.arange(MAX_LENGTH, device=device)

    def _project(self, layer, hidden):
        key_value = KEY_VALUE_HEADS * HEAD_SIZE
        return functional.linear(hidden, layer["query_key_value"]).split([HIDDEN, key_value, key_value], dim=-1)

    def _feed_forward(self, layer, hidden):
        gate, up = functional.linear(hidden, layer["gate_up"]).chunk(2, dim=-1)
        return functional.linear(functional.silu(gate) * up, layer["down"])

    def prefill(self, tokens, slot):
        """tokens: [length] of one request; fills the cache of `slot`; returns the next token, a tensor of shape [1]."""
        length = tokens.shape[0]
        residual = torch.zeros(length, HIDDEN, device=tokens.device, dtype=torch.bfloat16)
        update = self.embedding[tokens]
        for layer in self.layers:
            query, key, value = self._project(layer, self.norm(residual, update, layer["attention_norm"]))
            key = key.view(length, KEY_VALUE_HEADS, HEAD_SIZE).transpose(0, 1)
            value = value.view(length, KEY_VALUE_HEADS, HEAD_SIZE).transpose(0, 1)
            layer["keys"][slot, :, :length] = key
            layer["values"][slot, :, :length] = value
            query = query.view(1, length, HEADS, HEAD_SIZE).transpose(1, 2)
            mixed = functional.scaled_dot_product_attention(query, key[None], value[None], is_causal=True,
                                                            enable_gqa=True)
            update = functional.linear(mixed.transpose(1, 2).reshape(length, HIDDEN), layer["attention_out"])
            update = self._feed_forward(layer, self.norm(residual, update, layer["feed_norm"]))
        hidden = self.norm(residual, update, self.final_norm)
        return functional.linear(hidden[-1:], self.embedding).argmax(dim=-1)

    def decode(self, tokens, slots, lengths):
        """One token for each of [batch] requests. tokens, slots, lengths: [batch] on the device; `lengths` counts what
        the cache holds already. Safe to capture: no shape depends on data. Returns the next tokens, [batch]."""
        batch = tokens.shape[0]
        residual = torch.zeros(batch, HIDDEN, device=tokens.device, dtype=torch.bfloat16)
        update = self.embedding[tokens]
        mask = (self.positions[None, :] <= lengths[:, None])[:, None, None, :]
        for layer in self.layers:
            query, key, value = self._project(layer, self.norm(residual, update, layer["attention_norm"]))
            layer["keys"][slots, :, lengths] = key.view(batch, KEY_VALUE_HEADS, HEAD_SIZE)
            layer["values"][slots, :, lengths] = value.view(batch, KEY_VALUE_HEADS, HEAD_SIZE)
            query = query.view(batch, HEADS, 1, HEAD_SIZE)
            mixed = functional.scaled_dot_product_attention(query, layer["keys"][slots], layer["values"][slots],
                                                            attn_mask=mask, enable_gqa=True)
            update = functional.linear(mixed.reshape(batch, HIDDEN), layer["attention_out"])
            update = self._feed_forward(layer, self.norm(residual, update, layer["feed_norm"]))
        hidden = self.norm(residual, update, self.final_norm)
        return functional.linear(hidden, self.embedding).argmax(dim=-1)
