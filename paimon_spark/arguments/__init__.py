"""Public calls: arguments held to the types that the calls declare, and errors without the calls below.

It imports the errors alone, and every room above may use it. What a call declares is what it checks: nothing is written
twice.
"""
