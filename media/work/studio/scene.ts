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

interface Placed {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly opacity?: number | undefined
  readonly rotation?: number | undefined
  /** When a video shows the layer, from the start of the page. Pictures show the page at its start. */
  readonly startSeconds?: number | undefined
  readonly endSeconds?: number | undefined
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
  readonly radius?: number | undefined
}

export type SceneLayer = TextLayer | PictureLayer | BoxLayer

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
