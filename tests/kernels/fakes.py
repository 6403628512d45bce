"""What stands for torch and CuPy where neither is: NumPy's arrays with the methods of tensors."""

import numpy as np


class Tensor(np.ndarray):
    def view(self, *what):
        """To a shape, or, as NumPy's own, to a type."""
        if isinstance(what[0], (int, tuple)):
            return self.reshape(what if isinstance(what[0], int) else what[0])
        return np.ndarray.view(self, *what)

    def data_ptr(self):
        return self.ctypes.data

    def permute(self, axes):
        return self.transpose(axes)

    def copy_(self, other):
        assert other.shape == self.shape
        self[...] = other


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def layer_norm(x, shape, gamma, beta, eps):
    assert shape == x.shape[-1:]
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * gamma + beta
