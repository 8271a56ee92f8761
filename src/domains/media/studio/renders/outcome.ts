import type { ReceivedFile } from '../../assets/index.ts'

/** A rendered file in the storage, and the asset to make of it. */
export interface RenderedAsset {
  readonly file: ReceivedFile
  readonly name: string
  /** The storage reservation of the file. It ends when the asset is added. */
  readonly reservationId: string
}

/** How a rendering has ended. It is plain data, because the turn that records it may run on another node. */
export type RenderOutcome =
  | { readonly status: 'done'; readonly files: readonly RenderedAsset[] }
  | { readonly status: 'failed'; readonly error: string }
