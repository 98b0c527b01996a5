"""The tables that `bench` prints, each line beside its bar."""
