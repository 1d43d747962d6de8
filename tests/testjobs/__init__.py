"""An app whose handlers do what tests need: work, sleep, raise, die, and leave a mess."""
