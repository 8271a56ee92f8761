/** A rectangle of pixels: RGBA with straight alpha. */
export interface Bitmap {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** A bitmap with its place on a page. */
export interface Sprite extends Bitmap {
  readonly left: number
  readonly top: number
  /** Without any transparent pixel. */
  readonly opaque: boolean
}

/** How a sprite is drawn. It is scaled and rotated around a point of the page, and then moved. */
export interface Drawing {
  readonly aroundX: number
  readonly aroundY: number
  readonly opacity: number
  readonly dx: number
  readonly dy: number
  readonly scale: number
  /** Degrees, clockwise. */
  readonly rotation: number
}

const MIN_SCALE = 0.002

/** Crops a bitmap to its pixels that are not transparent, as a sprite. Undefined if the whole bitmap is transparent. */
export function cropped({ data, height, width }: Bitmap, left: number, top: number): Sprite | undefined {
  let [minX, maxX, minY, maxY] = [width, -1, height, -1]
  let opaque = true
  for (let y = 0; y < height; y += 1) {
    for (let x = 0, at = y * width * 4 + 3; x < width; x += 1, at += 4) {
      const alpha = data[at]
      if (alpha !== 255) opaque = false
      if (alpha === 0) continue
      if (x < minX) minX = x
      if (x > maxX) maxX = x
      if (y < minY) minY = y
      maxY = y
    }
  }
  if (maxX < 0) return undefined
  if (opaque) return { data, height, width, left, top, opaque }
  const [newWidth, newHeight] = [maxX - minX + 1, maxY - minY + 1]
  const part = new Uint8Array(newWidth * newHeight * 4)
  for (let y = 0; y < newHeight; y += 1) {
    const from = ((y + minY) * width + minX) * 4
    part.set(data.subarray(from, from + newWidth * 4), y * newWidth * 4)
  }
  return { data: part, width: newWidth, height: newHeight, left: left + minX, top: top + minY, opaque: false }
}

/** Makes a bitmap opaque, on black. */
export function flatten({ data }: Bitmap): void {
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] ?? 255
    if (alpha === 255) continue
    for (let channel = 0; channel < 3; channel += 1) {
      data[at + channel] = Math.round(((data[at + channel] ?? 0) * alpha) / 255)
    }
    data[at + 3] = 255
  }
}

/** Draws a sprite on an opaque frame. */
export function draw(frame: Bitmap, sprite: Sprite, drawing: Drawing): void {
  const { dx, dy, opacity, rotation, scale } = drawing
  if (opacity <= 0 || scale < MIN_SCALE) return
  const whole = Number.isInteger(dx) && Number.isInteger(dy)
  if (scale === 1 && rotation % 360 === 0 && whole) place(frame, sprite, drawing)
  else sample(frame, sprite, drawing)
}

/** Draws a sprite whose pixels fall on pixels of the frame. */
function place(frame: Bitmap, sprite: Sprite, { dx, dy, opacity }: Drawing): void {
  const [left, top] = [sprite.left + dx, sprite.top + dy]
  const [fromX, toX] = [Math.max(0, left), Math.min(frame.width, left + sprite.width)]
  const [fromY, toY] = [Math.max(0, top), Math.min(frame.height, top + sprite.height)]
  if (fromX >= toX) return
  const strength = Math.round(opacity * 256)
  const { data: target } = frame
  const { data: source } = sprite
  for (let y = fromY; y < toY; y += 1) {
    let to = (y * frame.width + fromX) * 4
    let from = ((y - top) * sprite.width + fromX - left) * 4
    const last = from + (toX - fromX) * 4
    if (sprite.opaque && strength === 256) {
      target.set(source.subarray(from, last), to)
      continue
    }
    for (; from < last; from += 4, to += 4) {
      const alpha = (source[from + 3]! * strength) >> 8
      if (alpha === 0) continue
      const rest = 255 - alpha
      target[to] = divided(source[from]! * alpha + target[to]! * rest)
      target[to + 1] = divided(source[from + 1]! * alpha + target[to + 1]! * rest)
      target[to + 2] = divided(source[from + 2]! * alpha + target[to + 2]! * rest)
    }
  }
}

/** The rounded quotient by 255, for products of two bytes. */
function divided(product: number): number {
  const rounded = product + 128
  return (rounded + (rounded >> 8)) >> 8
}

/** Draws a sprite that is scaled, rotated or between pixels. Each pixel of the frame is a mix of the four nearest ones. */
function sample(frame: Bitmap, sprite: Sprite, drawing: Drawing): void {
  const { aroundX, aroundY, dx, dy, opacity, rotation, scale } = drawing
  const angle = (rotation * Math.PI) / 180
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const [centerX, centerY] = [aroundX + dx, aroundY + dy]
  const [shiftX, shiftY] = [aroundX - sprite.left - 0.5, aroundY - sprite.top - 0.5]
  const corners = [0, sprite.width].flatMap((x) =>
    [0, sprite.height].map((y) => {
      const [offX, offY] = [(x + sprite.left - aroundX) * scale, (y + sprite.top - aroundY) * scale]
      return { x: centerX + cos * offX - sin * offY, y: centerY + sin * offX + cos * offY }
    }),
  )
  const xs = corners.map(({ x }) => x)
  const ys = corners.map(({ y }) => y)
  const [fromX, toX] = [Math.max(0, Math.floor(Math.min(...xs)) - 1), Math.min(frame.width, Math.max(...xs) + 1)]
  const [fromY, toY] = [Math.max(0, Math.floor(Math.min(...ys)) - 1), Math.min(frame.height, Math.max(...ys) + 1)]
  const { data: target } = frame
  const { data: source, height, width } = sprite
  for (let y = fromY; y < toY; y += 1) {
    const offY = y + 0.5 - centerY
    for (let x = fromX; x < toX; x += 1) {
      const offX = x + 0.5 - centerX
      // Back to the pixels of the sprite.
      const sourceX = (cos * offX + sin * offY) / scale + shiftX
      const sourceY = (cos * offY - sin * offX) / scale + shiftY
      if (sourceX <= -1 || sourceY <= -1 || sourceX >= width || sourceY >= height) continue
      const [x0, y0] = [Math.floor(sourceX), Math.floor(sourceY)]
      const [shareX, shareY] = [sourceX - x0, sourceY - y0]
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (let corner = 0; corner < 4; corner += 1) {
        const [cornerX, cornerY] = [x0 + (corner & 1), y0 + (corner >> 1)]
        if (cornerX < 0 || cornerY < 0 || cornerX >= width || cornerY >= height) continue
        const at = (cornerY * width + cornerX) * 4
        const weight =
          ((corner & 1) === 1 ? shareX : 1 - shareX) * (corner >> 1 === 1 ? shareY : 1 - shareY) * source[at + 3]!
        alpha += weight
        red += weight * source[at]!
        green += weight * source[at + 1]!
        blue += weight * source[at + 2]!
      }
      if (alpha === 0) continue
      const to = (y * frame.width + x) * 4
      const strength = opacity / 255
      const rest = 1 - alpha * strength
      target[to] = red * strength + target[to]! * rest + 0.5
      target[to + 1] = green * strength + target[to + 1]! * rest + 0.5
      target[to + 2] = blue * strength + target[to + 2]! * rest + 0.5
    }
  }
}
