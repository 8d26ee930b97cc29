"""PyTorch: packed GRU encoder, a loop of GRUCell with additive attention, batched beam search.

The model follows the Annotated Encoder-Decoder, but everything that needs no loop is computed
outside it: the keys, the embeddings, the readout and the output layer.
"""

import contextlib

import protocol
import sentences
import torch
from torch import nn
from torch.nn import functional

CLIP_NORM = 5.0


class Model(nn.Module):
    """Model with the equations and the number of parameters of row 1's model."""

    def __init__(self, sizes):
        super().__init__()
        embedding, width, units = sizes["embedding"], 2 * sizes["encoder"], sizes["decoder"]
        self.source_embedding = nn.Embedding(sizes["vocabulary"], embedding, padding_idx=0)
        self.target_embedding = nn.Embedding(sizes["vocabulary"], embedding, padding_idx=0)
        self.encoder = nn.GRU(embedding, sizes["encoder"], batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, units)
        self.query = nn.Linear(units, sizes["attention"], bias=False)
        self.key = nn.Linear(width, sizes["attention"], bias=False)
        self.score = nn.Linear(sizes["attention"], 1, bias=False)
        self.cell = nn.GRUCell(embedding + width, units)
        self.readout = nn.Linear(units + width + embedding, sizes["readout"])
        self.output = nn.Linear(sizes["readout"], sizes["vocabulary"])

    def encode(self, source):
        """Encode a source, and return (values, keys, mask, first state)."""
        mask = source != 0
        lengths = mask.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.source_embedding(source), lengths, batch_first=True, enforce_sorted=False
        )
        values, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        mean = values.sum(1) / mask.sum(1, keepdim=True)
        return values, self.key(values), mask, torch.tanh(self.bridge(mean))

    def step(self, embedded, state, values, keys, mask):
        """Compute one step, and return (next state, context)."""
        query = self.query(state).unsqueeze(1)
        scores = self.score(torch.tanh(query + keys)).squeeze(2)
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), 1)
        context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
        return self.cell(torch.cat([embedded, context], 1), state), context

    def logits(self, states, contexts, embedded):
        return self.output(torch.tanh(self.readout(torch.cat([states, contexts, embedded], -1))))

    def forward(self, source, target_in):
        values, keys, mask, state = self.encode(source)
        embedded = self.target_embedding(target_in)
        states, contexts = [], []
        for now in embedded.unbind(1):
            state, context = self.step(now, state, values, keys, mask)
            states.append(state)
            contexts.append(context)
        return self.logits(torch.stack(states, 1), torch.stack(contexts, 1), embedded)


class Training:
    """A model and its optimizer. If `compiled`, its step and its logits use torch.compile.

    With precision "bfloat16", the forward pass and the loss run under `autocast`, and the weights
    stay in float32.
    """

    def __init__(self, sizes, compiled=False, precision="float32"):
        torch.manual_seed(0)
        self.model = Model(sizes)
        if compiled:
            self.model.step = torch.compile(self.model.step, dynamic=False)
            self.model.logits = torch.compile(self.model.logits, dynamic=False)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True)
        self.precision = precision

    def __call__(self, source, target_in, target_out):
        with autocast(self.precision):
            logits = self.model(source, target_in).flatten(0, 1)
            loss = functional.cross_entropy(logits, target_out.flatten(), ignore_index=0)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    @property
    def parameters(self):
        return sum(one.numel() for one in self.model.parameters())


def autocast(precision):
    """Return the context manager for PyTorch's mixed precision on the default device."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(torch.get_default_device().type, dtype=torch.bfloat16)


def _tensors(arrays):
    return [torch.from_numpy(array).long() for array in arrays]


def _step(training, batch, source_time, target_time, vocabulary):
    tensors = _tensors(sentences.random_batch(batch, source_time, target_time, vocabulary))

    def run():
        training(*tensors).item()
        return batch * target_time

    return run


def training_step(sizes, compiled=False, precision="float32", warm_up=True):
    """Prepare forward pass, loss, gradients, clipping and fused Adam."""
    training = Training(sizes, compiled, precision)
    shape = sizes["batch"], sizes["source_time"], sizes["target_time"]
    run = _step(training, *shape, sizes["vocabulary"])
    if warm_up:
        run(), run()
    note = f"precision={precision}, {'torch.compile' if compiled else 'eager'}"
    small = _step(training, 2, 4, 4, sizes["vocabulary"])
    return protocol.Job(run, training.parameters, note=note, small=small)


def epoch(sizes, corpus, batch=64):
    """Prepare an epoch with batches of similar length, like those of torchtext's BucketIterator."""
    source, target = sentences.read_corpus(corpus, "train")
    training, seeds = Training(sizes), iter(range(1000))

    def run(limit=None):
        for rows in sentences.bucketed_order(source, target, batch, next(seeds))[:limit]:
            target_out = sentences.padded([target[row] for row in rows])
            padded = sentences.padded([source[row] for row in rows])
            training(*_tensors((padded, sentences.shifted(target_out), target_out)))
        return sentences.real_tokens(target)

    run(limit=10)
    return protocol.Job(run, training.parameters, note=f"batches of {batch}, sorted by length")


def decode(sizes, corpus, beam, batch=64, precision="float32"):
    """Prepare a search from ids to ids, up to the limit, with weights in `precision`."""
    source, _ = sentences.read_corpus(corpus, "test")
    torch.manual_seed(0)
    model = Model(sizes).eval().to(getattr(torch, precision))
    with torch.no_grad():
        model.output.bias[sentences.END] = -1e4
    batches = [*sentences.search_batches(source, batch)]
    search = _greedy if beam == 1 else _beam_search

    @torch.inference_mode()
    def run():
        for padded, steps in batches:
            search(model, *_tensors([padded]), steps, beam)
        return len(source)

    run()
    weights = sum(one.numel() for one in model.parameters())
    return protocol.Job(run, weights, note=f"precision={precision}")


def _greedy(model, source, steps, _):
    values, keys, mask, state = model.encode(source)
    tokens = torch.full((len(source),), sentences.START)
    alive = torch.ones(len(source), dtype=torch.bool)
    found = []
    for _ in range(steps):
        embedded = model.target_embedding(tokens)
        state, context = model.step(embedded, state, values, keys, mask)
        tokens = model.logits(state, context, embedded).argmax(1) * alive
        found.append(tokens)
        alive = alive & (tokens != sentences.END)
        if not alive.any():
            break
    return torch.stack(found, 1)


def _beam_search(model, source, steps, beam):
    """Search all hypotheses of all sentences as one batch; finished ones continue with padding."""
    rows = len(source)
    encoded = model.encode(source)
    values, keys, mask, state = (one.repeat_interleave(beam, 0) for one in encoded)
    tokens = torch.full((rows * beam,), sentences.START)
    scores = torch.full((rows, beam), -1e9)
    scores[:, 0] = 0.0
    finished = torch.zeros(rows, beam, dtype=torch.bool)
    ids = torch.zeros(rows, beam, 0, dtype=torch.long)
    first = torch.arange(rows).unsqueeze(1) * beam
    for _ in range(steps):
        embedded = model.target_embedding(tokens)
        state, context = model.step(embedded, state, values, keys, mask)
        gained = torch.log_softmax(model.logits(state, context, embedded).float(), 1)
        gained = gained.view(rows, beam, -1)
        gained[finished] = -1e9
        gained[..., sentences.PAD][finished] = 0.0
        total = (scores.unsqueeze(2) + gained).view(rows, -1)
        scores, picked = total.topk(beam, 1)
        parents, chosen = picked // gained.shape[2], picked % gained.shape[2]
        finished = finished.gather(1, parents) | (chosen == sentences.END)
        ids = torch.cat(
            [ids.gather(1, parents.unsqueeze(2).expand_as(ids)), chosen.unsqueeze(2)], 2
        )
        state, tokens = state[(first + parents).flatten()], chosen.flatten()
        if finished.all():
            break
    return ids


class AdditiveAttention(nn.Module):
    """Attention with the score v^T tanh(W q + U h), as a module that accepts many queries."""

    def __init__(self, units):
        super().__init__()
        self.query = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(units, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)

    def forward(self, query, values, mask):
        one = query.dim() == 2
        if one:
            query = query.unsqueeze(1)
        # (batch, n, 1, units) + (batch, 1, source_time, units)
        hidden = torch.tanh(self.query(query).unsqueeze(2) + self.key(values).unsqueeze(1))
        scores = self.score(hidden).squeeze(3).masked_fill(~mask.unsqueeze(1), -1e9)
        context = torch.bmm(torch.softmax(scores, 2), values)
        return context.squeeze(1) if one else context


def attention(batch, source_time, target_time, units, compiled=False, warm_up=True):
    """Prepare `AdditiveAttention`, forward and backward.

    `target_time` is the number of queries; None means one query without a time axis.
    """
    torch.manual_seed(0)
    module = AdditiveAttention(units)
    forward = torch.compile(module, dynamic=False) if compiled else module
    weights = [*module.parameters()]

    def work(*shape):
        arrays = sentences.attention_batch(*shape, units)
        query, values, mask, upstream = map(torch.from_numpy, arrays)
        query.requires_grad_(), values.requires_grad_()

        def run():
            torch.autograd.grad(forward(query, values, mask), [query, values, *weights], upstream)
            return 1

        return run

    run = work(batch, source_time, target_time)
    if warm_up:
        run(), run()
    small = work(2, 4, None if target_time is None else 4)
    parameters = sum(one.numel() for one in weights)
    note = "torch.compile" if compiled else "eager"
    return protocol.Job(run, parameters, note=note, small=small)


def attentions(cases, compiled=False):
    """Prepare `attention` for each case; the runs take the cases in turn."""
    return protocol.in_turns(attention, cases, compiled=compiled)


if __name__ == "__main__":
    protocol.serve(
        {
            "training_step": training_step,
            "epoch": epoch,
            "decode": decode,
            "attention": attention,
            "attentions": attentions,
        },
        ["torch"],
    )
