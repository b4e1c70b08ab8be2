//! Fetching memory into the cache before it is needed.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Has the processor fetch a value's memory while the program goes on. A plain read would do the same, but holds up what
/// follows it: the processor can go only some hundred instructions beyond a read that has not come. Elsewhere than on
/// x86-64 nothing is fetched.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of::<T>()).step_by(LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program sees, and faults at no address. There is no safe way yet.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(start.wrapping_add(offset));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (start, offset);
    }
}
