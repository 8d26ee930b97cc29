"""PyTorch on a GPU: the model of pytorch.py, unchanged or with torch.compile."""

import pytorch
import sentences
import torch
from protocol import Job, serve

GPU = torch.cuda.is_available()
if GPU:
    torch.set_default_device("cuda")
    torch.set_float32_matmul_precision("high")  # TF32, as in TensorFlow and JAX


def training(size, precision, compiled):
    """Prepare `steps` training batches; the compiled part includes the loop over time."""
    trained = pytorch.Training(size, precision=precision)
    if compiled:
        trained.model.compile(dynamic=False, mode=compiled)
    tensors = _batch(size)

    def run():
        for _ in range(size["steps"]):
            torch.compiler.cudagraph_mark_step_begin()  # outputs of the last step may be freed
            loss = trained(*tensors)
        loss.item()  # waits for the GPU
        return size["steps"] * size["batch"] * size["target_time"]

    run()
    return Job(run, parameters=trained.parameters)


def decoding(size, precision, beam, compiled):
    """Prepare a greedy or beam search for a batch, with weights in `precision`."""
    model = pytorch.Training(size, bool(compiled)).model.eval().to(getattr(torch, precision))
    with torch.no_grad():
        model.output.bias[sentences.END] = -1e4  # no translation ends before the limit
    source, *_ = _batch(size)
    search = pytorch._greedy if beam == 1 else pytorch._beam_search

    @torch.inference_mode()
    def run():
        search(model, source, size["target_time"], beam).cpu()
        return size["batch"] * size["target_time"]

    run()
    return Job(run, parameters=sum(one.numel() for one in model.parameters()))


def _batch(size):
    shape = (size["batch"], size["source_time"], size["target_time"], size["vocabulary"])
    arrays = sentences.random_batch(*shape)
    return [torch.from_numpy(array).long().to(torch.get_default_device()) for array in arrays]


if __name__ == "__main__":
    serve({"training": training, "decoding": decoding}, ["torch"])
