import Golden

as_type = fn operand, type ->
  golden({:convert, :as_type}, [operand], &Nx.as_type(&1, type))
end

# Floats become integers within their range only: beyond it, `Nx.BinaryBackend` wraps where the
# engine saturates.
conversions =
  for from <- types(), to <- types(), from != to do
    operand =
      if from in floats() and to not in [:s8, :s16, :s32, :s64 | floats()] do
        Nx.abs(sample({4}, from))
      else
        sample({4}, from)
      end

    as_type.(operand, to)
  end

wrapping = [
  as_type.(tensor([-1, 300, 65_537], :s32), :u8),
  as_type.(tensor([-1, 40_000], :s32), :s16),
  as_type.(tensor([18_446_744_073_709_551_615], :u64), :s64),
  as_type.(tensor([-1], :s8), :u64)
]

rounding = [
  as_type.(tensor([0.1, 1.0e-3, 65_504.0, -3.14159], :f32), :f16),
  as_type.(tensor([0.1, 1.0e-30, 1.0e30], :f64), :f32),
  as_type.(tensor([2.9, -2.9, 0.5], :f64), :s64)
]

# The types of one width.
widths = [[:s8, :u8], [:s16, :u16, :f16, :bf16], [:s32, :u32, :f32], [:s64, :u64, :f64]]

bits =
  for width <- widths, from <- width, to <- width, from != to do
    golden({:convert, :bitcast}, [Nx.abs(sample({2, 2}, from))], &Nx.bitcast(&1, to))
  end

conversions ++ wrapping ++ rounding ++ bits
