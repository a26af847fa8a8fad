defmodule ExBurn.TensorTest do
  use ExUnit.Case, async: true

  alias ExBurn.{Backend, Error, Tensor}

  doctest Tensor

  @types ~w(s8 s16 s32 s64 u8 u16 u32 u64 f16 bf16 f32 f64)a

  defp binary(data, options \\ []) do
    Nx.tensor(data, [backend: Nx.BinaryBackend] ++ options)
  end

  for type <- @types do
    test "keeps #{type} there and back" do
      nx = binary([[0, 1, 2], [3, 4, 5]], type: unquote(type))
      assert {:ok, %Tensor{} = tensor} = Tensor.from_nx(nx)
      assert {tensor.type, tensor.shape} == {unquote(type), [2, 3]}
      assert {:ok, %Nx.Tensor{data: %Backend{}} = back} = Tensor.to_nx(tensor)
      assert {Nx.type(back), Nx.shape(back)} == {Nx.type(nx), {2, 3}}
      assert Nx.to_binary(back) == Nx.to_binary(nx)
    end

    test "reads #{type} from its bytes" do
      bytes = Nx.to_binary(binary([7, 9], type: unquote(type)))
      assert {:ok, tensor} = Tensor.from_binary(bytes, [2, 1], unquote(type))
      {:ok, nx} = Tensor.to_nx(tensor)
      assert Nx.to_binary(nx) == bytes
      assert Nx.shape(nx) == {2, 1}
    end
  end

  test "tells what it is" do
    for {shape, numel} <- [{{}, 1}, {{4}, 4}, {{2, 1, 3, 5}, 30}] do
      {:ok, tensor} = Tensor.from_nx(Nx.iota(shape, type: :u16))
      assert Tensor.shape(tensor) == Tuple.to_list(shape)
      assert Tensor.rank(tensor) == tuple_size(shape)
      assert Tensor.numel(tensor) == numel
      assert Tensor.type(tensor) == :u16
      assert tensor.device == ExBurn.Device.default()
    end
  end

  describe "with Nx" do
    test "shares the reference both ways" do
      nx = Nx.tensor([1.0, 2.0], backend: Backend)
      {:ok, tensor} = Tensor.from_nx(nx)
      {:ok, back} = Tensor.to_nx(tensor)
      assert tensor.ref == nx.data.ref
      assert back.data.ref == nx.data.ref
    end

    test "drops names and counts vectorized axes first" do
      for backend <- [Backend, Nx.BinaryBackend] do
        nx = Nx.tensor([[1, 2, 3], [4, 5, 6]], names: [:x, :y], backend: backend)
        {:ok, tensor} = Tensor.from_nx(Nx.vectorize(nx, :x))
        {:ok, back} = Tensor.to_nx(tensor)
        assert Nx.to_list(back) == [[1, 2, 3], [4, 5, 6]]
        assert {back.names, back.vectorized_axes} == {[nil, nil], []}
      end
    end

    test "refuses a type that Nx doesn't have" do
      odd = %{binary(1) | type: {:s, 24}}
      assert {:error, %Error{op: :type} = error} = Tensor.from_nx(odd)
      assert error.reason =~ "given s24, expected one of"
      assert {:error, %Error{op: :type}} = Tensor.from_nx_batch([Nx.tensor(1), odd])
    end

    test "takes lists" do
      assert Tensor.from_nx_batch([]) == {:ok, []}
      assert Tensor.to_nx_batch([]) == {:ok, []}
      {:ok, tensors} = Tensor.from_nx_batch([Nx.tensor([1, 2]), binary(3.0)])
      {:ok, [first, second]} = Tensor.to_nx_batch(tensors)
      assert {Nx.to_list(first), Nx.to_number(second)} == {[1, 2], 3.0}
    end
  end

  describe "from_binary/3" do
    test "refuses what doesn't fit" do
      for {binary, shape, type} <- [
            {<<1, 2, 3>>, [2], :u8},
            {<<>>, [0], :u8},
            {<<1>>, [-1], :u8},
            {<<1>>, [1], :u7},
            {<<1>>, :all, :u8},
            {:bytes, [1], :u8}
          ] do
        assert {:error, %Error{op: "from_binary", details: details}} =
                 Tensor.from_binary(binary, shape, type)

        assert %{given: _, expected: _} = details
      end
    end
  end

  describe "free/1" do
    test "can be done twice, and keeps what the struct holds" do
      {:ok, tensor} = Tensor.from_nx(Nx.tensor([[1.0]]))
      assert Tensor.free(tensor) == :ok
      assert Tensor.free(tensor) == :ok
      assert {Tensor.shape(tensor), Tensor.type(tensor)} == {[1, 1], :f32}
    end

    test "makes any use fail" do
      {:ok, tensor} = Tensor.from_nx(Nx.tensor([1.0]))
      {:ok, nx} = Tensor.to_nx(tensor)
      Tensor.free(tensor)
      assert {:error, %Error{}} = Tensor.to_nx(tensor)
      assert {:error, %Error{}} = Tensor.to_nx_batch([tensor])
      assert {:error, %Error{}} = Tensor.from_nx(nx)
      assert_raise Error, ~r/deallocated/, fn -> Tensor.to_cpu(tensor) end
      assert_raise Error, ~r/deallocated/, fn -> Nx.to_binary(nx) end
    end

    test "leaves a copy on the same device" do
      {:ok, tensor} = Tensor.from_nx(Nx.tensor([1.0, 2.0]))
      copy = Tensor.to_cpu(tensor)
      Tensor.free(tensor)
      {:ok, nx} = Tensor.to_nx(copy)
      assert Nx.to_list(nx) == [1.0, 2.0]
    end

    test "refuses a reference to something else" do
      foreign = %Tensor{ref: make_ref(), shape: [1], type: :f32, device: :cpu}
      assert_raise Error, ~r/expected a reference to a tensor/, fn -> Tensor.free(foreign) end
    end
  end

  describe "to_gpu/1" do
    test "moves there and back, or says what there is" do
      {:ok, tensor} = Tensor.from_nx(Nx.tensor([1.0, 2.0]))

      if ExBurn.gpu_available?() do
        moved = Tensor.to_gpu(tensor)
        assert moved.device in ExBurn.Device.gpus()
        assert Tensor.to_gpu(moved).device == moved.device
        {:ok, nx} = Tensor.to_nx(Tensor.to_cpu(moved))
        assert Nx.to_list(nx) == [1.0, 2.0]
      else
        assert_raise Error, "device: given :gpu, expected one of [:cpu]", fn ->
          Tensor.to_gpu(tensor)
        end
      end
    end
  end
end
