/**
 * What the studio renders. Lengths are pixels of the page, times are seconds, angles are degrees clockwise. Media are local
 * files, which the caller has checked to belong to the workspace: a scene names no URLs, and the renderer opens none.
 */
export interface Scene {
  readonly pages: readonly ScenePage[]
  /** Played from the start of a video, again and again until its end. */
  readonly sound?: SceneSound | undefined
}

export interface SceneSound {
  readonly path: string
  /** 1 is the volume of the file. */
  readonly volume?: number | undefined
}

export interface ScenePage {
  /** How long a video shows the page. */
  readonly seconds?: number | undefined
  readonly width: number
  readonly height: number
  /** `#rrggbb` or `#rrggbbaa`, like every color. */
  readonly background: string
  /** From the bottom to the top. */
  readonly layers: readonly SceneLayer[]
}

interface Placed extends Timed {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly opacity?: number | undefined
  readonly rotation?: number | undefined
}

/** When a video shows or plays a layer, from the start of the page. Pictures show the page at its start. */
interface Timed {
  readonly startSeconds?: number | undefined
  readonly endSeconds?: number | undefined
  /** How a video makes the layer appear and disappear, within its times. Pictures show it without. */
  readonly enter?: Animation | undefined
  readonly exit?: Animation | undefined
}

/**
 * `fade` changes the opacity (or volume) evenly. `slide` moves the layer from outside of the page, and `zoom` makes it grow
 * from nothing around its center, both fast at first and then slower. An exit is the same backwards.
 */
export interface Animation {
  readonly effect: 'fade' | 'slide' | 'zoom'
  readonly seconds: number
  /** Where a layer slides from or to. */
  readonly side?: 'left' | 'right' | 'top' | 'bottom' | undefined
}

export interface TextLayer extends Placed {
  readonly kind: 'text'
  readonly text: string
  readonly fontSize: number
  readonly color: string
  readonly fontWeight?: 'normal' | 'bold' | undefined
  readonly align?: 'start' | 'center' | 'end' | undefined
  readonly verticalAlign?: 'top' | 'middle' | 'bottom' | undefined
  readonly lineHeight?: number | undefined
  /** Makes the text smaller until it fits its layer. */
  readonly shrink?: boolean | undefined
  /** A box behind the text, as large as the text needs. */
  readonly boxColor?: string | undefined
}

export interface PictureLayer extends Placed {
  readonly kind: 'picture'
  readonly path: string
  readonly fit?: 'cover' | 'contain' | undefined
  readonly radius?: number | undefined
}

export interface BoxLayer extends Placed {
  readonly kind: 'box'
  readonly color: string
  /** Of the lower edge, if the color changes evenly from the upper edge to it. */
  readonly endColor?: string | undefined
  readonly radius?: number | undefined
}

/** A part of a file with video, in its own speed. After the end of the file its last frame stays. */
export interface VideoLayer extends Placed {
  readonly kind: 'video'
  readonly path: string
  /** Where it begins in the file. */
  readonly fromSeconds?: number | undefined
  readonly fit?: 'cover' | 'contain' | undefined
  readonly radius?: number | undefined
  /** 1 is the volume of the file, 0 is without sound. */
  readonly volume?: number | undefined
}

/** Bars that show how loud a part of a file is. The loudest bar is as high as the layer. */
export interface WaveformLayer extends Placed {
  readonly kind: 'waveform'
  readonly path: string
  readonly fromSeconds?: number | undefined
  /** Of the bars up to the present moment. */
  readonly color: string
  /** Of the bars after it. */
  readonly restColor: string
  readonly barCount?: number | undefined
  /** `whole` shows all that is played while the layer is shown, `moving` the seconds around the present moment. */
  readonly barRange?: 'whole' | 'moving' | undefined
}

/** A part of a file with sound. It is not shown. */
export interface SoundLayer extends Timed {
  readonly kind: 'sound'
  readonly path: string
  readonly fromSeconds?: number | undefined
  readonly volume?: number | undefined
}

export type ShownLayer = TextLayer | PictureLayer | BoxLayer | VideoLayer | WaveformLayer
export type SceneLayer = ShownLayer | SoundLayer

/** What to make of a scene: one picture of each of these pages, or one video (`mp4`) that shows them one after another. */
export interface RenderOrder {
  readonly format: 'png' | 'jpeg' | 'webp' | 'mp4'
  /** Indexes of pages. The files are in this order. */
  readonly pages: readonly number[]
}

export interface RenderedFile {
  readonly path: string
  readonly bytes: number
  readonly mime: string
  readonly width: number
  readonly height: number
  /** Null for pictures. */
  readonly seconds: number | null
}

export interface RenderedScene {
  readonly files: readonly RenderedFile[]
}
