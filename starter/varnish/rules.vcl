# Your own rules, or one of ../recipes: they run before those of default.vcl.
