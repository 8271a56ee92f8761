/** How an image is cropped, scaled and padded. All lengths are in square pixels. */
export interface Frame {
  /** The centered part of the source that is kept, in pixels of the source. */
  readonly crop: { readonly width: number; readonly height: number }
  /** The dimensions of that part after scaling. */
  readonly scaled: { readonly width: number; readonly height: number }
  /** The dimensions of the output, which are larger than `scaled` if there are bars. */
  readonly width: number
  readonly height: number
}

export interface FrameRule {
  readonly maxWidth: number
  readonly maxHeight: number
  readonly minWidth?: number | undefined
  readonly minHeight?: number | undefined
  /** The narrowest and the widest allowed aspect ratio, as width over height. */
  readonly aspects?: readonly [number, number] | undefined
  readonly fit: 'crop' | 'pad'
  /** Both edges are a multiple of this. 2 for video with 4:2:0 subsampling. */
  readonly multiple: 1 | 2
}

export function frame(source: { width: number; height: number }, rule: FrameRule): Frame {
  const sourceAspect = source.width / source.height
  const [narrowest, widest] = rule.aspects ?? [sourceAspect, sourceAspect]
  const aspect = Math.min(widest, Math.max(narrowest, sourceAspect))
  const bars = rule.fit === 'pad'
  // The area with the target aspect ratio: inside the source (crop), or around it (bars).
  const isWider = sourceAspect > aspect
  const area =
    isWider === bars
      ? { width: source.width, height: source.width / aspect }
      : { width: source.height * aspect, height: source.height }
  const shrink = Math.min(1, rule.maxWidth / area.width, rule.maxHeight / area.height)
  const grow = Math.max((rule.minWidth ?? 0) / area.width, (rule.minHeight ?? 0) / area.height)
  const scale = Math.max(shrink, Math.min(grow, rule.maxWidth / area.width, rule.maxHeight / area.height))
  const toMultiple = (length: number, max: number) => {
    // Round odd lengths down, so that no pixel is added.
    const rounded = Math.floor((length + 0.5) / rule.multiple) * rule.multiple
    const floor = Math.floor(max / rule.multiple) * rule.multiple
    return Math.max(rule.multiple, Math.min(rounded, floor))
  }
  const width = toMultiple(area.width * scale, rule.maxWidth)
  const height = toMultiple(area.height * scale, rule.maxHeight)
  if (bars) {
    const scaled = { width: toMultiple(source.width * scale, width), height: toMultiple(source.height * scale, height) }
    return { crop: source, scaled, width, height }
  }
  const crop = {
    width: Math.max(1, Math.min(source.width, Math.round(area.width))),
    height: Math.max(1, Math.min(source.height, Math.round(area.height))),
  }
  return { crop, scaled: { width, height }, width, height }
}
