"""The acts of the stage `festival`: each has a backdrop, two avatars, a prop and a sound. Data only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A sheet of a backdrop: its shape (`scenes.SHAPES`), colour, and upper edge as a part of the height."""

    shape: str
    colour: str
    top: float


@dataclass(frozen=True)
class Scene:
    """A backdrop: the sky above and below, colour and place of sun or moon, and the layers, from behind."""

    sky: tuple[str, str]
    disc: tuple[str, float, float]
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Puppet:
    """An avatar: `body` and `hat` are keys of `figures.BODIES` and `figures.HATS`."""

    name: str
    body: str
    colour: str
    second: str
    hat: str
    skin: str = "#eab58c"
    hair: str = "#1f1b2e"
    hair_is_long: bool = False
    waves: bool = False


# Each mark is a method of figures.Pen, a colour, and the numbers it takes, on a grid of 40 x 40.
Prop = tuple[tuple[str, str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Sound:
    """Sounds of the demo stage, one after the other: `bell` or `box`, and how often."""

    name: str
    type: str
    parts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Act:
    """One act; `slug` is in the names of its files."""

    slug: str
    name: str
    scene: Scene
    puppets: tuple[Puppet, Puppet]
    prop_name: str
    prop: Prop
    sound: Sound

    @property
    def backdrop_file(self) -> str:
        """Below /media, here and below."""
        return f"festival-{self.slug}.jpg"

    @property
    def avatar_files(self) -> tuple[str, str]:
        """One for each puppet."""
        return f"festival-{self.slug}-1.png", f"festival-{self.slug}-2.png"

    @property
    def prop_file(self) -> str:
        """The prop's file."""
        return f"festival-{self.slug}-prop.png"

    @property
    def sound_file(self) -> str:
        """The sound's file."""
        return f"audio/festival-{self.slug}.mp3"


ACTS = (
    Act(
        "island",
        "The island",
        Scene(
            ("#4a2f5e", "#f0b96b"),
            ("#f6e7cb", 0.62, 0.5),
            (
                Layer("clouds", "#d98a68", 0.16),
                Layer("hills", "#7d2430", 0.5),
                Layer("waves", "#2f5d62", 0.66),
                Layer("waves", "#24474f", 0.76),
                Layer("waves", "#1f1b2e", 0.87),
            ),
        ),
        (
            Puppet("The Castaway", "tunic", "#e8d3ae", "#2f5d62", "wreath", waves=True),
            Puppet("The Pirate", "coat", "#7d2430", "#f6e7cb", "cap", skin="#c98d62"),
        ),
        "Paper boat",
        (
            ("shape", "#f6e7cb", (3, 22, 37, 22, 30, 33, 10, 33)),
            ("shape", "#e8d3ae", (10, 22, 20, 6, 30, 22)),
            ("line", "#b23a2e", (1.2, 20, 6, 20, 22)),
        ),
        Sound("Ship's bell", "sfx", (("bell", 2),)),
    ),
    Act(
        "forest",
        "The forest",
        Scene(
            ("#f0d9a6", "#d98a68"),
            ("#b23a2e", 0.3, 0.3),
            (Layer("firs", "#6f8f7a", 0.3), Layer("firs", "#3f6b5f", 0.42), Layer("firs", "#1f3a3a", 0.56)),
        ),
        (
            Puppet("The Woodcutter", "tunic", "#b23a2e", "#3f6b5f", "cap", hair="#6b4226"),
            Puppet("The Witch", "gown", "#33264a", "#4b3a66", "pointed", hair="#b9c7d6", hair_is_long=True),
        ),
        "Broom",
        (
            ("line", "#8a5a3c", (2.4, 8, 6, 25, 24)),
            ("shape", "#e0a13a", (21, 23, 27, 18, 38, 32, 28, 38)),
            ("line", "#b23a2e", (1.6, 22.5, 26, 28.5, 20.5)),
        ),
        Sound(
            "Clearing",
            "sfx",
            (
                ("bell", 1),
                ("box", 1),
            ),
        ),
    ),
    Act(
        "city",
        "The city at night",
        Scene(
            ("#15132a", "#4a2f5e"),
            ("#f6e7cb", 0.78, 0.22),
            (
                Layer("stars", "#e0a13a", 0.02),
                Layer("skyline", "#4b3a66", 0.36),
                Layer("skyline", "#33264a", 0.48),
                Layer("skyline", "#1f1b2e", 0.62),
            ),
        ),
        (
            Puppet("The Singer", "gown", "#b23a2e", "#e0a13a", "bun", skin="#8a5a3c", waves=True),
            Puppet("The Magician", "coat", "#33264a", "#f6e7cb", "top hat"),
        ),
        "Microphone",
        (
            ("line", "#1f1b2e", (4, 12, 36, 22, 20)),
            ("oval", "#6c86a3", (26, 13, 8, 8)),
            ("line", "#1f1b2e", (1.4, 20, 12, 29, 20)),
            ("oval", "#b9c7d6", (28.5, 10, 2, 2)),
        ),
        Sound("Night music", "music", (("box", 23),)),
    ),
    Act(
        "mountains",
        "The mountains",
        Scene(
            ("#8fb4c4", "#f6e7cb"),
            ("#e0a13a", 0.2, 0.24),
            (
                Layer("peaks", "#b9c7d6", 0.26),
                Layer("peaks", "#6c86a3", 0.42),
                Layer("peaks", "#3d5573", 0.56),
                Layer("hills", "#2f5d62", 0.78),
            ),
        ),
        (
            Puppet("The Climber", "tunic", "#e0a13a", "#3d5573", "hood", waves=True),
            Puppet("The Hermit", "robe", "#6c86a3", "#f6e7cb", "bare", hair="#e9dfe6", hair_is_long=True),
        ),
        "Telescope",
        (
            ("line", "#b9622f", (6, 9, 30, 19, 22)),
            ("line", "#e0a13a", (7.5, 20, 21, 28, 15)),
            ("line", "#1f1b2e", (9, 29, 14, 33, 11.5)),
            ("oval", "#8fc7cf", (34, 10.7, 3, 4)),
        ),
        Sound("Two bells", "sfx", (("bell", 2),)),
    ),
    Act(
        "desert",
        "The desert",
        Scene(
            ("#e0a13a", "#f6e7cb"),
            ("#b23a2e", 0.5, 0.34),
            (
                Layer("peaks", "#c9743f", 0.44),
                Layer("hills", "#b9622f", 0.58),
                Layer("hills", "#99442a", 0.7),
                Layer("hills", "#7d2430", 0.82),
            ),
        ),
        (
            Puppet("The Merchant", "robe", "#2f5d62", "#e0a13a", "hood", skin="#8a5a3c"),
            Puppet("The Dancer", "gown", "#b23a2e", "#f0b96b", "bun", skin="#c98d62", waves=True),
        ),
        "Lamp",
        (
            ("shape", "#e0a13a", (5, 20, 22, 15, 31, 20, 38, 14, 31, 29, 24, 32, 12, 31)),
            ("line", "#b9622f", (2, 17, 33, 24, 33)),
            ("shape", "#b23a2e", (36, 13, 39, 6, 34, 10)),
            ("oval", "#b9622f", (19, 15, 3, 2.2)),
        ),
        Sound(
            "Caravan",
            "sfx",
            (
                ("box", 1),
                ("bell", 1),
            ),
        ),
    ),
    Act(
        "garden",
        "The garden",
        Scene(
            ("#bfe0d8", "#f6e7cb"),
            ("#e0a13a", 0.8, 0.2),
            (
                Layer("clouds", "#ffffff", 0.14),
                Layer("orchard", "#8fae6a", 0.36),
                Layer("orchard", "#5d8a5a", 0.48),
                Layer("orchard", "#2f5d4a", 0.62),
            ),
        ),
        (
            Puppet("The Gardener", "tunic", "#5d8a5a", "#8a5a3c", "wreath", hair="#b9622f"),
            Puppet("The Beekeeper", "coat", "#e0a13a", "#1f1b2e", "bare", skin="#8a5a3c", waves=True),
        ),
        "Flower",
        (
            ("line", "#2f5d4a", (2, 20, 19, 20, 38)),
            ("shape", "#5d8a5a", (20, 32, 30, 25, 27, 33)),
            ("oval", "#d9705f", (20, 6, 5, 5)),
            ("oval", "#d9705f", (28, 12, 5, 5)),
            ("oval", "#d9705f", (25, 20, 5, 5)),
            ("oval", "#d9705f", (15, 20, 5, 5)),
            ("oval", "#d9705f", (12, 12, 5, 5)),
            ("oval", "#e0a13a", (20, 13.5, 5, 5)),
        ),
        Sound("Music box", "sfx", (("box", 1),)),
    ),
    Act(
        "temple",
        "The temple",
        Scene(
            ("#2f5d62", "#f0b96b"),
            ("#f6e7cb", 0.5, 0.46),
            (
                Layer("hills", "#7a5a6e", 0.5),
                Layer("columns", "#e8d3ae", 0.34),
                Layer("hills", "#4a3346", 0.86),
            ),
        ),
        (
            Puppet("The Oracle", "robe", "#f6e7cb", "#7a5a6e", "hood", skin="#c98d62", waves=True),
            Puppet("The Hero", "tunic", "#b23a2e", "#e8d3ae", "horns", hair="#6b4226"),
        ),
        "Mask",
        (
            ("oval", "#e8d3ae", (20, 18, 14, 16)),
            ("shape", "#e8d3ae", (9, 26, 31, 26, 20, 38)),
            ("oval", "#1f1b2e", (14, 15, 3.4, 2.4)),
            ("oval", "#1f1b2e", (26, 15, 3.4, 2.4)),
            ("arc", "#7d2430", (20, 23, 8, 7, 10, 170)),
            ("line", "#b9622f", (1.6, 20, 16, 20, 21)),
        ),
        Sound("Temple bell", "sfx", (("bell", 2),)),
    ),
    Act(
        "sea",
        "Under the sea",
        Scene(
            ("#4fa3a5", "#123047"),
            ("#bfe0d8", 0.4, 0.1),
            (
                Layer("bubbles", "#a8d8d4", 0.1),
                Layer("peaks", "#2c6f7c", 0.52),
                Layer("hills", "#c76b5a", 0.68),
                Layer("hills", "#1b3a4b", 0.82),
            ),
        ),
        (
            Puppet("The Diver", "tunic", "#e0a13a", "#b9622f", "helmet", waves=True),
            Puppet("The Sea Queen", "gown", "#2c6f7c", "#a8d8d4", "crown", hair="#c76b5a", hair_is_long=True),
        ),
        "Fish",
        (
            ("shape", "#c76b5a", (26, 20, 38, 10, 36, 20, 38, 30)),
            ("oval", "#e0a13a", (17, 20, 14, 9)),
            ("shape", "#c76b5a", (14, 12, 22, 4, 23, 13)),
            ("oval", "#1f1b2e", (9, 18, 1.7, 1.7)),
            ("arc", "#b9622f", (17, 20, 5, 7, 290, 70)),
        ),
        Sound(
            "Sunken bell",
            "sfx",
            (
                ("bell", 1),
                ("box", 1),
            ),
        ),
    ),
    Act(
        "winter",
        "The winter",
        Scene(
            ("#5b6f94", "#e9dfe6"),
            ("#f6e7cb", 0.7, 0.3),
            (
                Layer("peaks", "#aebbd0", 0.34),
                Layer("firs", "#4d6580", 0.44),
                Layer("hills", "#f4f1f4", 0.72),
                Layer("stars", "#ffffff", 0.02),
            ),
        ),
        (
            Puppet(
                "The Snow Queen", "gown", "#aebbd0", "#ffffff", "crown", hair="#f4f1f4", hair_is_long=True
            ),
            Puppet("The Skater", "coat", "#b23a2e", "#ffffff", "hood", skin="#c98d62", waves=True),
        ),
        "Snowflake",
        (
            ("line", "#8fb4c4", (2.4, 20, 3, 20, 37)),
            ("line", "#8fb4c4", (2.4, 5, 11.5, 35, 28.5)),
            ("line", "#8fb4c4", (2.4, 5, 28.5, 35, 11.5)),
            ("oval", "#5b6f94", (20, 20, 4.5, 4.5)),
            ("oval", "#ffffff", (20, 20, 2, 2)),
        ),
        Sound(
            "Skating music",
            "music",
            (
                ("bell", 1),
                ("box", 22),
            ),
        ),
    ),
    Act(
        "storm",
        "The storm",
        Scene(
            ("#1f1b2e", "#5d6470"),
            ("#c9c2b0", 0.26, 0.3),
            (
                Layer("clouds", "#3a3d4d", 0.12),
                Layer("clouds", "#4d5160", 0.3),
                Layer("waves", "#40606e", 0.56),
                Layer("waves", "#2a4556", 0.68),
                Layer("waves", "#16283a", 0.8),
            ),
        ),
        (
            Puppet("The Keeper", "coat", "#40606e", "#e0a13a", "hood", hair="#c9c2b0"),
            Puppet(
                "The Helmswoman",
                "coat",
                "#16283a",
                "#c9c2b0",
                "cap",
                skin="#8a5a3c",
                hair_is_long=True,
                waves=True,
            ),
        ),
        "Umbrella",
        (
            ("line", "#8a5a3c", (2, 20, 18, 20, 35)),
            ("arc", "#8a5a3c", (23, 35, 3.5, 3, 0, 180)),
            (
                "shape",
                "#b23a2e",
                (
                    3,
                    20,
                    6,
                    12,
                    12,
                    6,
                    20,
                    3,
                    28,
                    6,
                    34,
                    12,
                    37,
                    20,
                    31,
                    17.5,
                    26,
                    20,
                    20,
                    17.5,
                    14,
                    20,
                    9,
                    17.5,
                ),
            ),
            ("line", "#7d2430", (1, 20, 4, 20, 17.5)),
        ),
        Sound("Buoy", "sfx", (("bell", 2),)),
    ),
    Act(
        "moon",
        "On the moon",
        Scene(
            ("#0d0b1a", "#1f1b2e"),
            ("#4fa3a5", 0.68, 0.3),
            (
                Layer("stars", "#f6e7cb", 0.0),
                Layer("peaks", "#6b6780", 0.52),
                Layer("hills", "#9b96ac", 0.66),
                Layer("hills", "#cfc9d6", 0.8),
            ),
        ),
        (
            Puppet("The Astronaut", "tunic", "#cfc9d6", "#9b96ac", "helmet", waves=True),
            Puppet("The Moon Man", "robe", "#9b96ac", "#e0a13a", "pointed", skin="#f0e6a8", hair="#6b6780"),
        ),
        "Star",
        (
            (
                "shape",
                "#e0a13a",
                (20, 2, 25, 14, 38, 15, 28, 23.5, 31.5, 37, 20, 29.5, 8.5, 37, 12, 23.5, 2, 15, 15, 14),
            ),
            ("oval", "#1f1b2e", (16.5, 19, 1.3, 1.7)),
            ("oval", "#1f1b2e", (23.5, 19, 1.3, 1.7)),
            ("arc", "#b23a2e", (20, 21, 4, 4, 20, 160)),
        ),
        Sound(
            "Music of the spheres",
            "sfx",
            (
                ("box", 1),
                ("bell", 1),
            ),
        ),
    ),
    Act(
        "finale",
        "The last night",
        Scene(
            ("#33264a", "#b23a2e"),
            ("#e0a13a", 0.5, 0.4),
            (
                Layer("bubbles", "#e0a13a", 0.06),
                Layer("skyline", "#7d2430", 0.5),
                Layer("orchard", "#4a1c36", 0.6),
                Layer("waves", "#1f1b2e", 0.86),
            ),
        ),
        (
            Puppet("The Director", "coat", "#1f1b2e", "#b23a2e", "top hat", skin="#c98d62", waves=True),
            Puppet("The Prompter", "gown", "#7d2430", "#e0a13a", "bun", hair="#6b4226"),
        ),
        "Bouquet",
        (
            ("shape", "#f6e7cb", (8, 18, 32, 18, 23, 38, 17, 38)),
            ("oval", "#b23a2e", (11, 14, 5.4, 5.4)),
            ("oval", "#e0a13a", (20, 9, 5.4, 5.4)),
            ("oval", "#b23a2e", (29, 14, 5.4, 5.4)),
            ("oval", "#d9705f", (16, 18, 5.4, 5.4)),
            ("oval", "#d9705f", (25, 18, 5.4, 5.4)),
            ("line", "#7d2430", (2, 15.5, 29, 24.5, 29)),
        ),
        Sound("Last bell", "sfx", (("bell", 2),)),
    ),
)
