"""`python -m attention_clinic`."""

from attention_clinic.command import main

if __name__ == "__main__":
    raise SystemExit(main())
