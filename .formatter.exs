# The macros of Nx and StreamData are named here, not taken by `import_deps`,
# so that `mix format` also works where no Hex package can be had.
[
  inputs: ["*.exs", ".formatter.exs", "{lib,test,config,examples,bench}/**/*.{ex,exs}"],
  locals_without_parens: [
    defn: 2,
    defnp: 2,
    deftransform: 1,
    deftransform: 2,
    deftransformp: 1,
    deftransformp: 2,
    while: 3,
    all: :*,
    check: 1,
    check: 2,
    property: 1,
    property: 2
  ]
]
