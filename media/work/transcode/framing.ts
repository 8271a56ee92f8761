/** How a picture of one size becomes one of another. All in square pixels. */
export interface Frame {
  /** What of the source is kept, in its pixels, from the middle. */
  readonly crop: { readonly width: number; readonly height: number }
  /** The size that becomes. */
  readonly scaled: { readonly width: number; readonly height: number }
  /** The size of the result: larger than `scaled` where there are bars. */
  readonly width: number
  readonly height: number
}

export interface FrameRule {
  readonly maxWidth: number
  readonly maxHeight: number
  readonly minWidth?: number | undefined
  readonly minHeight?: number | undefined
  /** Width over height; the same twice for one shape. */
  readonly aspects?: readonly [number, number] | undefined
  readonly fit: 'crop' | 'pad'
  /** Both edges are a multiple of it: 2 for video with halved colours. */
  readonly multiple: 1 | 2
}

export function frame(source: { width: number; height: number }, rule: FrameRule): Frame {
  const shape = source.width / source.height
  const [narrowest, widest] = rule.aspects ?? [shape, shape]
  const aspect = Math.min(widest, Math.max(narrowest, shape))
  const bars = rule.fit === 'pad'
  // What has the shape asked for: within the source, or around it.
  const wider = shape > aspect
  const shaped =
    wider === bars
      ? { width: source.width, height: source.width / aspect }
      : { width: source.height * aspect, height: source.height }
  const shrink = Math.min(1, rule.maxWidth / shaped.width, rule.maxHeight / shaped.height)
  const grow = Math.max((rule.minWidth ?? 0) / shaped.width, (rule.minHeight ?? 0) / shaped.height)
  const scale = Math.max(shrink, Math.min(grow, rule.maxWidth / shaped.width, rule.maxHeight / shaped.height))
  const whole = (length: number, most: number) => {
    // An odd length loses a pixel rather than gaining one that is not there.
    const rounded = Math.floor((length + 0.5) / rule.multiple) * rule.multiple
    const floor = Math.floor(most / rule.multiple) * rule.multiple
    return Math.max(rule.multiple, Math.min(rounded, floor))
  }
  const width = whole(shaped.width * scale, rule.maxWidth)
  const height = whole(shaped.height * scale, rule.maxHeight)
  if (bars) {
    const scaled = { width: whole(source.width * scale, width), height: whole(source.height * scale, height) }
    return { crop: source, scaled, width, height }
  }
  const crop = {
    width: Math.max(1, Math.min(source.width, Math.round(shaped.width))),
    height: Math.max(1, Math.min(source.height, Math.round(shaped.height))),
  }
  return { crop, scaled: { width, height }, width, height }
}
