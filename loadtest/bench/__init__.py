"""The measure: experiments as data (labs/*/lab.toml), one runner for all of them."""
