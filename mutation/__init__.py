"""Mutation testing: each small change to the code that no test notices is a test that is missing."""
