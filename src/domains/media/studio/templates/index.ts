import { audiogram } from './audiogram.ts'
import { carousel } from './carousel.ts'
import { event } from './event.ts'
import { quoteCard } from './quote-card.ts'
import { slideshow } from './slideshow.ts'
import { story } from './story.ts'
import { subtitles } from './subtitles.ts'
import type { Template } from './template.ts'

/** The templates, by their key. Each has a preview in `previews`, which `templates.test.ts` makes and compares. */
export const TEMPLATES = {
  'quote-card': quoteCard,
  event,
  carousel,
  story,
  audiogram,
  subtitles,
  slideshow,
} as const satisfies Readonly<Record<string, Template>>

export type TemplateKey = keyof typeof TEMPLATES
