import { directionOf } from '../../../../tools/text-direction.ts'
import type { ProjectData, StudioLayerData, TemplateValues } from '../schemas.ts'
import { sizeOf } from '../page-formats.ts'

export type Direction = 'ltr' | 'rtl'

/** The direction of a template's texts, which the first letter of the largest one decides. */
export function directionOfValues({ bulletTexts = [], text = '', title = '' }: TemplateValues): Direction {
  return directionOf([title, text, ...bulletTexts].join(' '))
}

/**
 * Pages for texts from right to left. What templates place on the left is on the right, and the other way round. Texts in
 * the other direction, such as a name in Latin letters, begin where the others do.
 */
export function inDirection(pages: ProjectData['pages'], direction: Direction): ProjectData['pages'] {
  return pages.map((page) => {
    const { width } = sizeOf(page)
    return { ...page, layers: page.layers.map((layer) => aligned(mirrored(layer, width, direction), direction)) }
  })
}

const OTHER_SIDE = { left: 'right', right: 'left', top: 'top', bottom: 'bottom' } as const

function mirrored(layer: StudioLayerData, pageWidth: number, direction: Direction): StudioLayerData {
  if (direction === 'ltr' || layer.left === undefined || layer.width === undefined) return layer
  const { enter, left, width } = layer
  const side = enter?.side === undefined ? undefined : OTHER_SIDE[enter.side]
  return {
    ...layer,
    left: pageWidth - left - width,
    ...(enter !== undefined && side !== undefined && { enter: { ...enter, side } }),
  }
}

function aligned(layer: StudioLayerData, direction: Direction): StudioLayerData {
  const { align = 'start', kind, text = '' } = layer
  if (kind !== 'text' || align !== 'start' || directionOf(text) === direction) return layer
  return { ...layer, align: 'end' }
}
