/**
 * What the studio renders. Lengths are pixels of the page, times are seconds, angles are degrees clockwise. Media are local
 * files, which the caller has checked to belong to the workspace: a scene names no URLs, and the renderer opens none.
 */
export interface Scene {
  readonly pages: readonly ScenePage[]
}

export interface ScenePage {
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

/** What to make of a scene: one picture of each of these pages. */
export interface RenderOrder {
  readonly format: 'png' | 'jpeg' | 'webp'
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
