defmodule ExBurn.NifTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias ExBurn.{Hostile, Nif}

  # All that the library answers; the loaders of the module are not the library's.
  @functions for {name, arity} <- Nif.__info__(:functions),
                 name not in [:load_rustler_precompiled, :rustler_init, :__init__],
                 do: {name, arity}

  @answer_tags [:ok, :collect, :error]

  defp tensor(binary, type, shape) do
    {:ok, tensor} = Nif.from_binary(binary, type, shape, :cpu)
    tensor
  end

  defp closed do
    tensor = tensor(<<1>>, :u8, [])
    {:ok, :ok} = Nif.deallocate(tensor)
    tensor
  end

  defp tensors do
    [
      tensor(<<1.0::32-float-native, 2.0::32-float-native>>, :f32, [2]),
      tensor(<<0, 1, 2, 3, 4, 5>>, :u8, [2, 3]),
      tensor(<<7::64-native>>, :s64, []),
      tensor(<<1.5::64-float-native>>, :f64, [1, 1, 1, 1]),
      closed()
    ]
  end

  defp program do
    graph = %{
      inputs: [%{dtype: :f32, shape: [2]}],
      instructions: [{:apply, %{op: {:unary, :exp}, operands: [0], dtype: :f32}}],
      outputs: [1]
    }

    {:ok, program} = Nif.compile(graph)
    program
  end

  test "every function the library registers is declared here" do
    assert length(@functions) == Nif.function_count()
  end

  for {name, arity} <- @functions, arity > 0 do
    property "#{name}/#{arity} answers whatever it is given" do
      tensors = tensors()
      arguments = List.duplicate(Hostile.argument(tensors, [program()]), unquote(arity))

      check all arguments <- fixed_list(arguments), max_runs: 200 do
        case apply(Nif, unquote(name), arguments) do
          :dirty -> :ok
          {tag, _} -> assert tag in @answer_tags
        end
      end

      # Whatever was deallocated above, what is made now works.
      assert {:ok, sum} =
               Nif.eval({:binary, :add}, List.duplicate(tensor(<<2>>, :u8, []), 2), :u8, :cpu)

      assert Nif.to_binary(sum, nil) == {:ok, <<4>>}
    end
  end

  property "operations on real tensors answer whatever their attributes" do
    tensors = tensors()

    check all op <- Hostile.operation(),
              operands <- list_of(member_of(tensors), max_length: 4),
              type <- member_of([:f32, :f64, :u8, :s64, :bf16]),
              max_runs: 2000 do
      assert {tag, _} = Nif.eval_dirty(op, operands, type, :cpu)
      assert tag in @answer_tags
    end
  end

  property "programs answer whatever is in them" do
    check all graph <- Hostile.graph(), max_runs: 300 do
      assert {tag, _} = Nif.compile(graph)
      assert tag in @answer_tags
    end
  end

  test "terms nested too deep are refused" do
    deep = Enum.reduce(1..1_000_000, [], fn _, inner -> [inner] end)

    assert {:error, {"compile", _, _}} =
             Nif.compile(%{inputs: [], instructions: deep, outputs: []})

    empty = %{inputs: [], instructions: [], outputs: []}

    graph =
      Enum.reduce(1..1000, empty, fn _, body ->
        %{empty | instructions: [{:while, %{operands: [], condition: empty, body: body}}]}
      end)

    assert {:error, {"compile", _, "terms nested at most" <> _}} = Nif.compile(graph)
  end

  test "errors name the operation, what was given and what was expected" do
    assert Nif.from_binary(<<0, 0, 0>>, :f32, [1], :cpu) ==
             {:error, {"from_binary", "3 bytes", "4 bytes for f32 {1}"}}

    assert {:error, {"eval", ":add_all", "one of" <> _}} =
             Nif.eval({:binary, :add_all}, [], :f32, :cpu)

    assert {:error, {"add", "1 operands", "2 operands"}} =
             Nif.eval({:binary, :add}, [tensor(<<1>>, :u8, [])], :u8, :cpu)

    assert {:error, {"spec", "a deallocated tensor", "a tensor"}} = Nif.spec(closed())
    assert {:error, {"spec", "ref", "a reference to a tensor"}} = Nif.spec(make_ref())
  end

  # Zero-sized tensors have no place in Nx either.
  test "empty tensors are refused" do
    for shape <- [[0], [2, 0]] do
      assert {:error, {"from_binary", _, _}} = Nif.from_binary(<<>>, :f32, shape, :cpu)

      assert {:error, {"iota", _, _}} =
               Nif.eval({:iota, %{shape: shape, axis: nil}}, [], :f32, :cpu)
    end
  end

  test "a tensor can be deallocated once" do
    tensor = tensor(<<1>>, :u8, [])
    assert Nif.deallocate(tensor) == {:ok, :ok}
    assert Nif.deallocate(tensor) == {:ok, :already_deallocated}
  end
end
