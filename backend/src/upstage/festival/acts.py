"""The acts of the stage `festival` as data: backdrops, avatars and sounds. `props` has the props."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A sheet of a backdrop: its shape (`scenes.SHAPES`), colour, and upper edge as a fraction of the
    height."""

    shape: str
    colour: str
    top: float


@dataclass(frozen=True)
class Scene:
    """A backdrop: the sky above and below, colour and place of sun or moon, and the layers, from back to
    front."""

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


@dataclass(frozen=True)
class Sound:
    """Sounds of the demo stage, one after another: `bell` or `box`, and how often."""

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
        Sound("Last bell", "sfx", (("bell", 2),)),
    ),
)
