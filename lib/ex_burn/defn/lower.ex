defmodule ExBurn.Defn.Lower do
  @moduledoc false
  # Makes a program of the engine of an expression of `Nx.Defn`.
  #
  # Expressions come in scopes. The bodies of `while` and the default of a block are closed; the
  # branches of `cond` see the scope around them, and what several branches need belongs to it.
  # Scopes being lowered form a stack, the innermost first. A scope collects instructions and
  # inputs; what it needs from an outer scope becomes one of its inputs, a capture.
  #
  # A value is `{:result, index}` of an instruction of its scope or `{:input, source}`; the finished
  # graph numbers them as the engine does.

  alias ExBurn.Defn.Fold
  alias ExBurn.{Operation, Type}
  alias Nx.Defn.{Composite, Expr, Tree}
  alias Nx.Tensor, as: T

  @enforce_keys [:ids]
  defstruct [
    :ids,
    # `:arguments` of the function, `:outer` for those of the scope around, or values by position.
    parameters: :arguments,
    # The values of every expression lowered so far, and the type and shape of every value.
    values: %{},
    specs: %{},
    # The sources of the inputs, the last one found first, and the tensors among them.
    inputs: [],
    literals: %{},
    instructions: [],
    results: 0
  ]

  @typedoc "Where an input of a program comes from: an argument's position, or a tensor."
  @type source :: {:argument, non_neg_integer()} | {:tensor, Nx.Tensor.t()}

  @doc """
  The graph of an expression without vectorized axes and the sources of its inputs, or
  `{:unsupported, what}` for an expression with something that only the caller's process can do or
  the engine can't yet.
  """
  @spec lower(Nx.Container.t()) ::
          {:ok, graph :: map(), [source()]} | {:unsupported, what :: term()}
  def lower(expression) do
    scope = %__MODULE__{ids: Tree.scope_ids(expression)}
    {outputs, [scope]} = lower_all(flatten(expression), [scope])
    inputs = Enum.reverse(scope.inputs)

    sources =
      for source <- inputs do
        with {:tensor, id} <- source, do: {:tensor, Map.fetch!(scope.literals, id)}
      end

    {:ok, graph(scope, inputs, scope.specs, outputs), sources}
  catch
    {:unsupported, what} -> {:unsupported, what}
  end

  defp flatten(expression), do: Composite.flatten_list([expression])

  defp lower_all(tensors, scopes) do
    {values, scopes} = Enum.map_reduce(tensors, scopes, &lower_values/2)
    {List.flatten(values), scopes}
  end

  defp lower_one(tensor, scopes) do
    {[value], scopes} = lower_values(tensor, scopes)
    {value, scopes}
  end

  # The values of an expression: one, or several for a tuple.
  defp lower_values(%T{data: %Expr{id: id}} = tensor, [scope | outer] = scopes) do
    case scope.values do
      %{^id => values} ->
        {values, scopes}

      %{} ->
        {values, [scope | outer]} =
          if belongs_outside?(tensor, scope, outer) do
            capture(tensor, scopes)
          else
            lower_node(tensor, scopes)
          end

        {values, [%{scope | values: Map.put(scope.values, id, values)} | outer]}
    end
  end

  defp belongs_outside?(_tensor, _scope, []), do: false
  defp belongs_outside?(%T{data: %Expr{op: :tensor}}, _scope, _outer), do: true
  defp belongs_outside?(%T{data: %Expr{op: :parameter}}, scope, _), do: scope.parameters == :outer

  defp belongs_outside?(%T{data: %Expr{id: id}}, _scope, [parent | _]),
    do: is_map_key(parent.ids, id)

  # What comes from the scope around is an input here, and its value there the source.
  defp capture(tensor, [scope | outer]) do
    {values, [parent | _] = outer} = lower_values(tensor, outer)
    {own, scope} = Enum.map_reduce(values, scope, &input(&2, &1, parent.specs[&1]))
    {own, [scope | outer]}
  end

  defp input(scope, source, spec) do
    value = {:input, source}

    if is_map_key(scope.specs, value) do
      {value, scope}
    else
      specs = Map.put(scope.specs, value, spec)
      {value, %{scope | inputs: [source | scope.inputs], specs: specs}}
    end
  end

  ## Nodes

  defp lower_node(%T{data: %Expr{op: :parameter, args: [position]}} = tensor, [scope | outer]) do
    case scope.parameters do
      :arguments ->
        {value, scope} = input(scope, {:argument, position}, spec(tensor))
        {[value], [scope | outer]}

      %{^position => value} ->
        {[value], [scope | outer]}
    end
  end

  defp lower_node(%T{data: %Expr{op: :tensor, id: id, args: [literal]}} = tensor, [scope | outer]) do
    {value, scope} = input(scope, {:tensor, id}, spec(tensor))
    {[value], [%{scope | literals: Map.put(scope.literals, id, literal)} | outer]}
  end

  defp lower_node(%T{data: %Expr{op: :metadata, args: [expression, _]}}, scopes) do
    lower_all(flatten(expression), scopes)
  end

  defp lower_node(%T{data: %Expr{op: :elem, args: [tuple, index]}}, scopes) do
    {values, scopes} = lower_values(tuple, scopes)
    {[Enum.at(values, index)], scopes}
  end

  defp lower_node(%T{data: %Expr{op: :cond, args: [clauses, last]}} = tensor, scopes) do
    [{predicate, body} | clauses] = clauses
    {predicate, scopes} = lower_one(predicate, scopes)

    # The clauses that are left are a cond of their own, in the branch where the first one fails.
    otherwise =
      if clauses == [] do
        last
      else
        %{tensor | data: %{tensor.data | id: make_ref(), args: [clauses, last]}}
      end

    {yes, yes_outputs, scopes} = branch(body, scopes)
    {no, no_outputs, [scope | _] = scopes} = branch(otherwise, scopes)
    captures = Enum.uniq(Enum.reverse(yes.inputs) ++ Enum.reverse(no.inputs))
    specs = around(scope, captures)
    branches = [graph(yes, captures, specs, yes_outputs), graph(no, captures, specs, no_outputs)]
    cond = %{predicate: predicate, operands: captures, branches: branches}
    emit({:cond, cond}, Enum.map(yes_outputs, &yes.specs[&1]), scopes)
  end

  defp lower_node(%T{data: %Expr{op: :while, args: args}}, scopes) do
    [initial, _parameters, condition, body] = args
    {carried, scopes} = lower_all(flatten(initial), scopes)
    specs = Enum.map(carried, &hd(scopes).specs[&1])
    {condition, predicate, scopes} = closed(condition, specs, scopes)
    {body, next, [scope | _] = scopes} = closed(body, specs, scopes)

    # What both take from outside goes through the loop unchanged.
    own = for position <- 0..(length(carried) - 1)//1, do: {:carried, position}
    captures = Enum.uniq(Enum.reverse(condition.inputs) ++ Enum.reverse(body.inputs)) -- own
    inputs = own ++ captures
    own_specs = Map.new(Enum.zip(own, specs), fn {source, spec} -> {{:input, source}, spec} end)
    input_specs = Map.merge(around(scope, captures), own_specs)
    next = next ++ Enum.map(captures, &{:input, &1})

    while = %{
      operands: carried ++ captures,
      condition: graph(condition, inputs, input_specs, predicate),
      body: graph(body, inputs, input_specs, next)
    }

    results = Enum.map(inputs, &input_specs[{:input, &1}])
    {values, scopes} = emit({:while, while}, results, scopes)
    {Enum.take(values, length(carried)), scopes}
  end

  defp lower_node(%T{data: %Expr{op: :block, args: [block, args, default, _]}} = tensor, scopes) do
    tensors = Enum.filter(args, &is_struct(&1, T))

    case Operation.new(block, tensor, tensors) do
      {op, operands} -> apply_operation(op, operands, default, scopes)
      :error -> inline(default, tensors, scopes)
    end
  end

  defp lower_node(%T{data: %Expr{op: op}} = tensor, scopes)
       when op in [:reduce, :window_reduce] do
    {expression, args} = Fold.expand(tensor)
    inline(expression, args, scopes)
  end

  defp lower_node(%T{data: %Expr{op: :call, args: [element, acc, fun]}}, scopes) do
    %T{data: %Expr{op: :fun, args: [_parameters, body, _mfa]}} = fun
    inline(body, [element, acc], scopes)
  end

  defp lower_node(%T{data: %Expr{op: op, args: args}} = tensor, scopes) do
    case Operation.new(op, tensor, args) do
      {term, operands} -> apply_operation(term, operands, tensor, scopes)
      :error -> throw({:unsupported, op})
    end
  end

  defp apply_operation({:linalg, op}, operands, results, scopes) do
    {operands, scopes} = Enum.map_reduce(operands, scopes, &lower_operand/2)
    specs = results |> flatten() |> Enum.map(&spec/1)
    linalg = %{op: op, operands: operands, dtypes: Enum.map(specs, & &1.dtype)}
    emit({:linalg, linalg}, specs, scopes)
  end

  defp apply_operation(op, operands, tensor, scopes) do
    {operands, scopes} = Enum.map_reduce(operands, scopes, &lower_operand/2)
    spec = spec(tensor)
    emit({:apply, %{op: op, operands: operands, dtype: spec.dtype}}, [spec], scopes)
  end

  defp lower_operand(number, scopes) when is_integer(number) do
    constant = %{op: {:constant, %{value: number, shape: []}}, operands: [], dtype: :s64}
    {[value], scopes} = emit({:apply, constant}, [%{dtype: :s64, shape: []}], scopes)
    {value, scopes}
  end

  defp lower_operand(tensor, scopes), do: lower_one(tensor, scopes)

  defp emit(instruction, specs, [scope | outer]) do
    values = for index <- 1..length(specs)//1, do: {:result, scope.results + index - 1}

    scope = %{
      scope
      | instructions: [instruction | scope.instructions],
        results: scope.results + length(specs),
        specs: Enum.zip_reduce(values, specs, scope.specs, &Map.put(&3, &1, &2))
    }

    {values, [scope | outer]}
  end

  ## Scopes

  # A branch sees everything around it.
  defp branch(expression, [parent | _] = scopes) do
    ids = Tree.scope_ids(expression, parent.ids)
    inner = %__MODULE__{ids: ids, parameters: :outer}
    {outputs, [scope | scopes]} = lower_all(flatten(expression), [inner | scopes])
    {scope, outputs, scopes}
  end

  # The condition and the body of a loop see what is carried.
  defp closed(expression, specs, scopes) do
    inner = %__MODULE__{ids: Tree.scope_ids(expression)}

    {parameters, inner} =
      specs
      |> Enum.with_index()
      |> Enum.map_reduce(inner, fn {spec, position}, scope ->
        {value, scope} = input(scope, {:carried, position}, spec)
        {{position, value}, scope}
      end)

    inner = %{inner | parameters: Map.new(parameters)}
    {outputs, [scope | scopes]} = lower_all(flatten(expression), [inner | scopes])
    {scope, outputs, scopes}
  end

  # An expression that takes its arguments by position, and nothing else from around it.
  defp inline(expression, args, scopes) do
    {values, [scope | outer]} = Enum.map_reduce(args, scopes, &lower_one/2)
    parameters = values |> Enum.with_index() |> Map.new(fn {value, at} -> {at, value} end)
    inner = %{scope | ids: Tree.scope_ids(expression), parameters: parameters, values: %{}}
    {results, [inner | outer]} = lower_all(flatten(expression), [inner | outer])
    restored = %{inner | ids: scope.ids, parameters: scope.parameters, values: scope.values}
    {results, [restored | outer]}
  end

  # Type and shape of the inputs of an inner scope whose sources are values of this one.
  defp around(scope, captures), do: Map.new(captures, &{{:input, &1}, scope.specs[&1]})

  ## The finished graph

  defp graph(scope, inputs, specs, outputs) do
    order = inputs |> Enum.with_index() |> Map.new()
    count = length(inputs)

    number = fn
      {:input, source} -> Map.fetch!(order, source)
      {:result, index} -> count + index
    end

    %{
      inputs: Enum.map(inputs, &Map.fetch!(specs, {:input, &1})),
      instructions: scope.instructions |> Enum.reverse() |> Enum.map(&numbered(&1, number)),
      outputs: Enum.map(outputs, number)
    }
  end

  defp numbered({:cond, attributes}, number) do
    predicate = number.(attributes.predicate)
    {:cond, %{attributes | predicate: predicate, operands: Enum.map(attributes.operands, number)}}
  end

  defp numbered({kind, attributes}, number) do
    {kind, %{attributes | operands: Enum.map(attributes.operands, number)}}
  end

  defp spec(%T{type: type, shape: shape}) do
    if Type.supported?(type) do
      %{dtype: Type.to_engine(type), shape: Tuple.to_list(shape)}
    else
      throw({:unsupported, type})
    end
  end
end
