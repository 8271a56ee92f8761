import type { WorkContext } from '../../process/context.ts'
import type { TextBlock } from '../fitting.ts'
import { PagePainter } from '../painter.ts'
import type { Scene } from '../scene.ts'

/** Where the texts of a page are drawn, by the layout of the renderer. Other layers are not opened. */
export async function textBlocksOf(scene: Scene, index: number): Promise<TextBlock[]> {
  const pages = scene.pages.map((page) => ({ ...page, layers: page.layers.filter(({ kind }) => kind === 'text') }))
  // Texts need nothing else of the context.
  const context = { signal: new AbortController().signal } as WorkContext
  return (await PagePainter.open({ pages }, index, context)).textBlocks()
}
