"""Small faults put into the package one at a time: does the short part of the tests find them?"""
