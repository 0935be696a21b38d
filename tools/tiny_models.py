"""Tiny vision-language models with random weights, of real architectures: what the vllm backend is tested with.

    python tools/tiny_models.py DIR      makes DIR/internvl, DIR/internvl-hf and DIR/llama4, about 1.5 MB each

internvl      InternVLChatModel as OpenGVLab publishes it (its own configuration code, a template of plain strings)
internvl-hf   the same architecture in transformers' own form
llama4        Llama4ForConditionalGeneration, two experts

They load, see images and answer in the form asked for like the large ones. What they say is noise. Needs torch,
transformers and tokenizers, as they come with vLLM.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    InternVLConfig,
    InternVLForConditionalGeneration,
    Llama4Config,
    Llama4ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

WIDTH, LAYERS, HEADS, INNER = 64, 2, 2, 128  # of language and vision model
SIDE_PX, PATCH_PX = 56, 14
VOCABULARY, CONTEXT = 2048, 32768  # tokens
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for c in m['content'] %}{% if c['type'] in ('image', 'image_url') %}{{ '<IMG_CONTEXT>\n' }}"
    "{% elif c['type'] == 'text' %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PLAIN_CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_CHAT = (
    "{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|header_start|>' + m['role'] + '<|header_end|>\n\n' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
    "{% if c['type'] in ('image', 'image_url') %}{{ '<|image|>' }}{% elif c['type'] == 'text' %}{{ c['text'] }}"
    "{% endif %}{% endfor %}{% endif %}{{ '<|eot|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|header_start|>assistant<|header_end|>\n\n' }}{% endif %}"
)
CONFIGURATION = """
from transformers import CONFIG_MAPPING, PretrainedConfig


class InternVisionConfig(PretrainedConfig):
    model_type = "intern_vit_6b"

    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)
        super().__init__(**fields)


class InternVLChatConfig(PretrainedConfig):
    model_type = "internvl_chat"
    is_composition = True

    def __init__(self, vision_config=None, llm_config=None, **fields):
        language = dict(llm_config or {"model_type": "qwen2"})
        self.vision_config = InternVisionConfig(**(vision_config or {}))
        self.llm_config = CONFIG_MAPPING[language.pop("model_type")](**language)
        for name, value in fields.items():
            setattr(self, name, value)
        super().__init__(**fields)

    def get_text_config(self, *args, **kwargs):
        return self.llm_config

    @property
    def text_config(self):
        return self.llm_config
"""


def tokenizer(special: list[str], template: str, end: str, begin: str | None, **named: str) -> PreTrainedTokenizerFast:
    """Byte pairs learned from a text that stays as it is, so that the models do too."""
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pairs.train(
        [str(Path(__file__).parents[1] / "LICENSE")],
        trainers.BpeTrainer(vocab_size=VOCABULARY - len(special), initial_alphabet=alphabet),
    )
    pairs.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    made = PreTrainedTokenizerFast(
        tokenizer_object=pairs, eos_token=end, pad_token="<|endoftext|>", bos_token=begin, model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False, extra_special_tokens=named,
    )  # fmt: skip
    made.chat_template = template
    return made


def internvl(folder: Path) -> None:
    """The published form: weights under their published names, configuration by code beside them."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<image>"]
    words = tokenizer([*special, "<|video_pad|>"], PLAIN_CHATML, "<|im_end|>", None)
    words.save_pretrained(folder)
    (folder / "configuration_internvl_chat.py").write_text(CONFIGURATION)
    language = _qwen2(words)
    language.architectures = ["Qwen2ForCausalLM"]
    vision = {
        "architectures": ["InternVisionModel"], "model_type": "intern_vit_6b", "hidden_size": WIDTH,
        "num_attention_heads": HEADS, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "image_size": SIDE_PX,
        "patch_size": PATCH_PX, "num_channels": 3, "qkv_bias": True, "qk_normalization": False,
        "norm_type": "layer_norm", "hidden_act": "gelu", "layer_norm_eps": 1e-6, "initializer_factor": 0.1,
    }  # fmt: skip
    _write(folder / "config.json", {
        "architectures": ["InternVLChatModel"], "model_type": "internvl_chat",
        "auto_map": {"AutoConfig": "configuration_internvl_chat.InternVLChatConfig"}, "downsample_ratio": 0.5,
        "dynamic_image_size": True, "force_image_size": SIDE_PX, "llm_config": language.to_dict(),
        "vision_config": vision, "max_dynamic_patch": 4, "min_dynamic_patch": 1, "ps_version": "v2",
        "select_layer": -1, "template": "internvl2_5", "use_thumbnail": True, "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    })  # fmt: skip
    _write(folder / "generation_config.json", {"eos_token_id": [words.eos_token_id]})
    torch.manual_seed(0)
    weights = {
        f"language_model.{name}": value.to(torch.bfloat16).contiguous().clone()
        for name, value in Qwen2ForCausalLM(language).state_dict().items()
    }
    save_file(weights | _published_vision(), folder / "model.safetensors", metadata={"format": "pt"})


def _qwen2(words: PreTrainedTokenizerFast) -> Qwen2Config:
    return Qwen2Config(
        vocab_size=len(words), hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=1, max_position_embeddings=CONTEXT,
        eos_token_id=words.eos_token_id, bos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        tie_word_embeddings=False,
    )  # fmt: skip


def _published_vision() -> dict[str, torch.Tensor]:
    def random(*shape: int) -> torch.Tensor:
        return (torch.randn(*shape) * 0.05).to(torch.bfloat16)

    def ones(size: int) -> torch.Tensor:
        return torch.ones(size, dtype=torch.bfloat16)

    patches = (SIDE_PX // PATCH_PX) ** 2
    found = {
        "embeddings.class_embedding": random(1, 1, WIDTH),
        "embeddings.position_embedding": random(1, patches + 1, WIDTH),
        "embeddings.patch_embedding.weight": random(WIDTH, 3, PATCH_PX, PATCH_PX),
        "embeddings.patch_embedding.bias": random(WIDTH),
    }
    for number in range(LAYERS):
        layer = {
            "ls1": random(WIDTH), "ls2": random(WIDTH),
            "attn.qkv.weight": random(3 * WIDTH, WIDTH), "attn.qkv.bias": random(3 * WIDTH),
            "attn.proj.weight": random(WIDTH, WIDTH), "attn.proj.bias": random(WIDTH),
            "mlp.fc1.weight": random(INNER, WIDTH), "mlp.fc1.bias": random(INNER),
            "mlp.fc2.weight": random(WIDTH, INNER), "mlp.fc2.bias": random(WIDTH),
            "norm1.weight": ones(WIDTH), "norm1.bias": random(WIDTH),
            "norm2.weight": ones(WIDTH), "norm2.bias": random(WIDTH),
        }  # fmt: skip
        found |= {f"encoder.layers.{number}.{name}": value for name, value in layer.items()}
    projector = {
        "mlp1.0.weight": ones(4 * WIDTH), "mlp1.0.bias": random(4 * WIDTH), "mlp1.1.weight": random(WIDTH, 4 * WIDTH),
        "mlp1.1.bias": random(WIDTH), "mlp1.3.weight": random(WIDTH, WIDTH), "mlp1.3.bias": random(WIDTH),
    }  # fmt: skip
    return {f"vision_model.{name}": value for name, value in found.items()} | projector


def internvl_hf(folder: Path) -> None:
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
    words = tokenizer(
        special, CHATML, "<|im_end|>", None, start_image_token="<img>", end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>", video_token="<video>",
    )  # fmt: skip
    words.save_pretrained(folder)
    vision = {
        "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "image_size": [SIDE_PX, SIDE_PX], "patch_size": [PATCH_PX, PATCH_PX], "use_qk_norm": False,
    }  # fmt: skip
    config = InternVLConfig(
        vision_config=vision, text_config=_qwen2(words).to_dict(), image_seq_length=4, downsample_ratio=0.5,
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"), tie_word_embeddings=False,
    )  # fmt: skip
    config.architectures = ["InternVLForConditionalGeneration"]
    torch.manual_seed(0)
    InternVLForConditionalGeneration(config).to(torch.bfloat16).save_pretrained(folder)
    images = _images("GotOcr2ImageProcessor", "InternVLProcessor", MEAN, STD, 3)
    _write(folder / "processor_config.json", {"processor_class": "InternVLProcessor", "image_seq_length": 4})
    _write(folder / "preprocessor_config.json", images | {"crop_to_patches": False, "min_patches": 1, "max_patches": 4})
    video = {"video_processor_type": "InternVLVideoProcessor"}
    _write(folder / "video_preprocessor_config.json", images | video)


def llama4(folder: Path) -> None:
    special = [
        "<|endoftext|>",
        "<|begin_of_text|>",
        "<|eot|>",
        "<|header_start|>",
        "<|header_end|>",
        "<|image|>",
        "<|image_start|>",
        "<|image_end|>",
        "<|patch|>",
        "<|tile_x_separator|>",
        "<|tile_y_separator|>",
    ]
    words = tokenizer(special, LLAMA_CHAT, "<|eot|>", "<|begin_of_text|>")
    words.save_pretrained(folder)
    config = Llama4Config(
        vision_config={
            "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
            "intermediate_size": 4 * WIDTH, "image_size": SIDE_PX, "patch_size": PATCH_PX, "vision_output_dim": WIDTH,
            "projector_input_dim": WIDTH, "projector_output_dim": WIDTH, "pixel_shuffle_ratio": 0.5,
            "num_channels": 3, "rope_theta": 10000.0,
        },
        text_config={
            "vocab_size": len(words), "hidden_size": WIDTH, "intermediate_size": INNER, "intermediate_size_mlp": INNER,
            "num_hidden_layers": 2 * LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": 1,
            "head_dim": WIDTH // HEADS, "num_local_experts": 2, "num_experts_per_tok": 1,
            "interleave_moe_layer_step": 1, "max_position_embeddings": CONTEXT, "use_qk_norm": True,
            "attention_chunk_size": CONTEXT, "eos_token_id": words.eos_token_id, "bos_token_id": words.bos_token_id,
            "pad_token_id": words.pad_token_id, "tie_word_embeddings": False,
        },
        boi_token_index=words.convert_tokens_to_ids("<|image_start|>"),
        eoi_token_index=words.convert_tokens_to_ids("<|image_end|>"),
        image_token_index=words.convert_tokens_to_ids("<|patch|>"), tie_word_embeddings=False,
    )  # fmt: skip
    config.architectures = ["Llama4ForConditionalGeneration"]
    torch.manual_seed(0)
    Llama4ForConditionalGeneration(config).to(torch.bfloat16).save_pretrained(folder)
    _write(folder / "processor_config.json", {
        "processor_class": "Llama4Processor", "patch_size": PATCH_PX, "pixel_shuffle_ratio": 0.5,
        "fake_image_token": "<|image|>", "image_token": "<|image|>",
    })  # fmt: skip
    images = _images("Llama4ImageProcessor", "Llama4Processor", [0.5] * 3, [0.5] * 3, 2)
    _write(folder / "preprocessor_config.json", images | {"max_patches": 4, "resize_to_max_canvas": False})


def _images(kind: str, processor: str, mean: list[float], std: list[float], resample: int) -> dict[str, Any]:
    return {
        "image_processor_type": kind, "processor_class": processor, "do_convert_rgb": True, "do_normalize": True,
        "do_rescale": True, "rescale_factor": 1 / 255, "do_resize": True, "image_mean": mean, "image_std": std,
        "resample": resample, "size": {"height": SIDE_PX, "width": SIDE_PX},
    }  # fmt: skip


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1))


MAKERS: dict[str, Callable[[Path], None]] = {"internvl": internvl, "internvl-hf": internvl_hf, "llama4": llama4}


def make(name: str, folder: Path) -> Path:
    """The model `name` of MAKERS in `folder`/`name`."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    MAKERS[name](place)
    return place


if __name__ == "__main__":
    for name in MAKERS:
        print(make(name, Path(sys.argv[1])))  # noqa: T201
