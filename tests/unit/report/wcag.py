"""Contrast by WCAG 2.2, and distances between colors as people with color blindness see them."""

from __future__ import annotations

import math

Rgb = tuple[float, float, float]

# Machado, Oliveira, Fernandes 2009, severity 1.0, applied to linear RGB
DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(color: str) -> Rgb:
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return r, g, b


def luminance(color: str) -> float:
    r, g, b = linear(color)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _lab(rgb: Rgb) -> Rgb:
    r, g, b = (min(1.0, max(0.0, part)) for part in rgb)
    white = (0.95047, 1.0, 1.08883)
    xyz = (
        0.4124564 * r + 0.3575761 * g + 0.1804375 * b,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        0.0193339 * r + 0.1191920 * g + 0.9503041 * b,
    )
    x, y, z = (
        value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
        for value in (part / reference for part, reference in zip(xyz, white, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, deficiency: str) -> float:
    """CIE76 between two colors as seen with a deficiency; 2.3 is a just noticeable difference."""

    def seen(color: str) -> Rgb:
        source = linear(color)
        r, g, b = (
            sum(weight * part for weight, part in zip(row, source, strict=True))
            for row in DEFICIENCIES[deficiency]
        )
        return _lab((r, g, b))

    return math.dist(seen(one), seen(other))
