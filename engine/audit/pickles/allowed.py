"""Which imported names a weight file or a checkpoint may need, by an allow-list.

Everything else is foreign, however harmless it looks: lists of evil names are never complete. Sources: what
``torch.load(weights_only=True)`` lets through (torch 2.13, ``_weights_only_unpickler``), the classes that
``torch.distributed.checkpoint`` writes into its metadata, how numpy and the standard library pickle their own plain
types, and what the Hugging Face trainer and DeepSpeed put into their state files.
"""

from __future__ import annotations

from typing import Literal

from engine.audit.pickles.machine import Use

Class = Literal["plain", "training", "foreign"]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BUILTINS = (
    "bool bytearray bytes complex dict float frozenset int list object range set slice str tuple"  # no getattr, no type
)
_PLAIN: dict[str, frozenset[str]] = {
    module: _names(names)
    for module, names in {
        "builtins": _BUILTINS,
        "__builtin__": f"{_BUILTINS} long unicode xrange",
        "collections": "OrderedDict defaultdict Counter deque",
        "_codecs": "encode",
        "copyreg": "_reconstructor",
        "copy_reg": "_reconstructor",
        "datetime": "date datetime time timedelta timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "uuid": "UUID",
        "types": "SimpleNamespace",
        "typing": "Any",
        "random": "Random",
        "numpy.random._pickle": "__bit_generator_ctor __generator_ctor __randomstate_ctor",
        "numpy.random.bit_generator": "SeedSequence __pyx_unpickle_SeedSequence",
        "numpy.random._mt19937": "MT19937",
        "numpy.random._pcg64": "PCG64",
        "numpy.random._philox": "Philox",
        "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
        "pathlib._local": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",  # of Python 3.13
        "numpy": "dtype ndarray",
        "numpy.core.multiarray": "_reconstruct scalar",
        "numpy._core.multiarray": "_reconstruct scalar",
        "numpy.core.numeric": "_frombuffer",
        "numpy._core.numeric": "_frombuffer",
        "torch": "Size Tensor device",
        "torch.nn.parameter": "Parameter Buffer",
        "torch.serialization": "_get_layout",
        "torch._tensor": "_rebuild_from_type_v2",
        "torch._utils": (
            "_rebuild_parameter _rebuild_parameter_with_state _rebuild_qtensor _rebuild_tensor _rebuild_tensor_v2 "
            "_rebuild_tensor_v3 _rebuild_sparse_tensor _rebuild_sparse_csr_tensor _rebuild_meta_tensor_no_storage "
            "_rebuild_nested_tensor _rebuild_wrapper_subclass _rebuild_device_tensor_from_numpy "
            "_rebuild_device_tensor_from_cpu_tensor"
        ),
        "torch.storage": "TypedStorage UntypedStorage _TypedStorage _UntypedStorage",
        "torch.jit._pickle": "build_boollist build_doublelist build_intlist build_tensor_from_id build_tensorlist",
        "torch.distributed.checkpoint.metadata": (
            "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex StorageMeta TensorProperties "
            "TensorStorageMetadata _MEM_FORMAT_ENCODING"
        ),
        "torch.distributed.checkpoint.filesystem": "_StorageInfo _StoragePrefix",
        "torch.distributed.checkpoint._fsspec_filesystem": "_StorageInfo",
        "torch.distributed.checkpoint.hf_storage": "_HFStorageInfo",
        "torch.distributed._shard.sharded_tensor.metadata": "MEM_FORMAT_ENCODING TensorProperties",
        "torch.distributed.tensor": "DTensor",
        "torch.distributed.tensor._api": "DTensor",
        "torch.distributed.tensor._dtensor_spec": "DTensorSpec TensorMeta",
        "torch.distributed.tensor.placement_types": "Partial Replicate Shard _StridedShard",
        "torch.distributed.device_mesh": "DeviceMesh",
        "deepspeed.utils.tensor_fragment": "fragment_address",
        "deepspeed.runtime.zero.config": "ZeroStageEnum",
        "deepspeed.runtime.fp16.loss_scaler": "DynamicLossScaler LossScaler",
    }.items()
}
_DTYPES = _names(
    "bfloat16 bit bits16 bits1x8 bits2x4 bits4x2 bits8 bool cdouble cfloat chalf complex128 complex32 complex64 double "
    "float float16 float32 float64 float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu half int int16 int32 int64 int8 long qint32 qint8 quint2x4 quint4x2 quint8 short uint16 uint32 "
    "uint64 uint8 per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine "
    "per_tensor_symmetric contiguous_format channels_last channels_last_3d preserve_format strided sparse_coo"
)
_STORAGES = frozenset(
    f"{kind}{what}"
    for kind in _names(
        "BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long QInt32 QInt8 QUInt2x4 QUInt4x2 "
        "QUInt8 Short"
    )
    for what in ("Storage", "Tensor")
)
# Libraries whose settings objects lie in training_args.bin and the like; __main__ is the script of the run. Only making
# one of their classes without its constructor, or looking up a member of an enumeration, is let through: some
# constructors start processes.
_TRAINING = _names(
    "UnslothDPOTrainer UnslothGRPOTrainer UnslothSFTTrainer __main__ accelerate argparse axolotl datasets deepspeed "
    "lightning lightning_fabric llamafactory megatron omegaconf openrlhf peft pytorch_lightning sentence_transformers "
    "swift torch torchtune transformers trl unsloth unsloth_compiled_cache verl"
)
_ENUMERATIONS = (
    "Backend", "Enum", "Format", "Kind", "Level", "Method", "Mode", "Names", "Option", "Prefetch", "Samplers",
    "Strategy", "Type",
)  # fmt: skip


def classify(use: Use, scripted: bool = False) -> Class:
    """Whether a name is plain data, a settings class that only training needs, or foreign.

    Args:
        scripted: the archive is a TorchScript one, whose reader knows the names below ``__torch__`` as its own.
    """
    module, name = use.name.module, use.name.name
    if name in _PLAIN.get(module, ()) or (scripted and module.partition(".")[0] == "__torch__"):
        return "plain"
    if module in ("torch", "torch.cuda", "torch.sparse") and name in _STORAGES:
        return "plain"
    if module == "torch" and name in _DTYPES:
        return "plain"
    is_class = name.lstrip("_")[:1].isupper() and "." not in name
    if not is_class or module.partition(".")[0] not in _TRAINING or use.initialised:
        return "foreign"
    return "foreign" if use.looked_up and not name.endswith(_ENUMERATIONS) else "training"
