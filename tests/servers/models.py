"""What each model of the double accepts. A test that needs another model adds a record of its own."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Model:
    """One model of one provider.

    family      whose rules and error shapes hold: openai, dashscope, glm, ark, anthropic, gemini or bedrock
    json_modes  response formats that the model takes
    sampling    whether temperature, top_p and the like are taken at all
    thinking    never (it cannot), off or on (the default; a request may change it), always (it cannot be switched off)
    forced_tool whether a tool choice may force a tool
    max_image_bytes  of an image as the provider counts it: Anthropic counts the base64 text, the others the file
    """

    family: str
    json_modes: tuple[str, ...] = ("json_schema", "json_object")
    sampling: bool = True
    thinking: str = "never"
    forced_tool: bool = True
    max_side_px: int = 8000
    max_image_bytes: int = 20 * MIB
    max_images: int = 16


MODELS: dict[str, Model] = {
    "gpt-4.1": Model("openai"),
    "gpt-5.2": Model("openai", thinking="on"),
    "qwen3-vl-plus": Model("dashscope", json_modes=("json_object",), thinking="off", max_image_bytes=10 * MIB),
    "glm-4.6v": Model("glm", json_modes=("json_object",), thinking="on", max_side_px=6000, max_image_bytes=5 * MIB),
    "glm-5.3": Model("glm", json_modes=("json_object",), thinking="always", max_side_px=6000, max_image_bytes=5 * MIB),
    "doubao-seed-2-0-pro": Model("ark", thinking="on", max_image_bytes=10 * MIB),
    "doubao-seed-2-0-code": Model("ark", json_modes=(), thinking="on", max_image_bytes=10 * MIB),
    "claude-sonnet-4-6": Model("anthropic", thinking="off", max_image_bytes=10 * MIB, max_images=100),
    "claude-opus-4-8": Model("anthropic", sampling=False, thinking="off", max_image_bytes=10 * MIB, max_images=100),
    "claude-fable-5": Model(
        "anthropic",
        sampling=False,
        thinking="always",
        forced_tool=False,
        max_image_bytes=10 * MIB,
        max_images=100,
    ),
    "gemini-2.5-flash": Model("gemini", thinking="on"),
    "gemini-3-pro": Model("gemini", thinking="always"),
    "amazon.nova-pro-v1:0": Model("bedrock", json_modes=(), max_image_bytes=int(3.75 * MIB), max_images=20),
}
