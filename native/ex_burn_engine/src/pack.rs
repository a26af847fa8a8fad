//! Elements as the caller reads and writes them: complex numbers part by part, those of less than
//! a byte packed, the first one in the highest bits.

use crate::{DType, Element, HostTensor, Result, Spec, ensure, shape};

/// What stores the elements of `bytes`; of complex ones, both parts.
pub fn read(op: &str, bytes: &[u8], spec: &Spec) -> Result<Vec<HostTensor>> {
    let stored = Spec::new(spec.dtype.stored(), spec.shape.clone());
    if spec.dtype.is_complex() {
        let shape = [&spec.shape[..], &[2]].concat();
        let both = HostTensor::from_bytes(op, bytes, &Spec::new(stored.dtype, shape))?;
        return Ok([0, 1].map(|number| part(&both, number)).to_vec());
    }
    let bits = spec.dtype.bits();
    if bits >= 8 {
        return Ok(vec![HostTensor::from_bytes(op, bytes, &stored)?]);
    }
    shape::check(op, &spec.shape, 1)?;
    let expected = (spec.size() * bits).div_ceil(8);
    ensure!(
        bytes.len() == expected,
        op,
        format!("{} bytes", bytes.len()),
        format!("{expected} bytes for {spec}")
    );
    let per_byte = 8 / bits;
    let elements = (0..spec.size()).map(|at| {
        // The element moved to the top of the byte, and down again with its sign.
        let top = bytes[at / per_byte] << (at % per_byte * bits);
        if stored.dtype == DType::S8 { (top as i8 >> (8 - bits)) as u8 } else { top >> (8 - bits) }
    });
    Ok(vec![HostTensor::from_bytes(op, &elements.collect::<Vec<_>>(), &stored)?])
}

/// A view of one part of a tensor whose last axis holds both.
fn part(both: &HostTensor, number: usize) -> HostTensor {
    let axis = both.rank() - 1;
    let offset = both.offset() + number * both.strides()[axis] as usize;
    both.view(both.shape()[..axis].to_vec(), both.strides()[..axis].to_vec(), offset)
}

/// A tensor whose bytes are those of the elements that `parts` store.
pub fn write(parts: &[HostTensor], dtype: DType) -> HostTensor {
    let bits = dtype.bits();
    match parts {
        [re, im] => match dtype.stored() {
            DType::F32 => interleave::<f32>(re, im),
            _ => interleave::<f64>(re, im),
        },
        _ if bits >= 8 => parts[0].clone(),
        _ => {
            let mut bytes = vec![0; (parts[0].size() * bits).div_ceil(8)];
            let per_byte = 8 / bits;
            for (at, &element) in parts[0].to_bytes().iter().enumerate() {
                bytes[at / per_byte] |= element << (8 - bits) >> (at % per_byte * bits);
            }
            let length = bytes.len();
            HostTensor::from_vec(bytes, &[length])
        }
    }
}

fn interleave<T: Element>(re: &HostTensor, im: &HostTensor) -> HostTensor {
    let (re_elements, im_elements) = (re.elements::<T>(), im.elements::<T>());
    let pairs = re_elements.iter().zip(im_elements.iter());
    let elements = pairs.flat_map(|(&re, &im)| [re, im]).collect();
    HostTensor::from_vec(elements, &[re.shape(), &[2]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_from_the_highest_bits_down() {
        let spec = Spec::new(DType::U2, [5]);
        let parts = read("test", &[0b0001_1011, 0b1000_0000], &spec).unwrap();
        assert_eq!(parts[0].elements::<u8>().as_ref(), [0, 1, 2, 3, 2]);
        assert_eq!(write(&parts, DType::U2).to_bytes().as_ref(), [0b0001_1011, 0b1000_0000]);

        let spec = Spec::new(DType::S4, [3]);
        let parts = read("test", &[0x7F, 0x80], &spec).unwrap();
        assert_eq!(parts[0].elements::<i8>().as_ref(), [7, -1, -8]);
        assert_eq!(write(&parts, DType::S4).to_bytes().as_ref(), [0x7F, 0x80]);
        assert!(read("test", &[0x7F], &spec).is_err());
    }

    #[test]
    fn complex_numbers_go_part_by_part() {
        let bytes: Vec<u8> =
            [1.0_f64, 2.0, 3.0, 4.0].into_iter().flat_map(f64::to_ne_bytes).collect();
        let parts = read("test", &bytes, &Spec::new(DType::C128, [2])).unwrap();
        assert_eq!(parts[0].elements::<f64>().as_ref(), [1.0, 3.0]);
        assert_eq!(parts[1].elements::<f64>().as_ref(), [2.0, 4.0]);
        assert_eq!(write(&parts, DType::C128).to_bytes().as_ref(), bytes);
    }
}
