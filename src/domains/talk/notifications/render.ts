import type { Texts, TextValues } from '../../../language/texts.ts'
import { plainName, plainText } from '../../../mail/user-text.ts'
import type { NotificationFields } from './tables.ts'

/** The part of a notification that its texts are made from. */
export interface ShownNotification {
  readonly type: string
  readonly data: NotificationFields
  /** The names of those who caused it, the latest first. Empty for a user without a name. */
  readonly actors: readonly string[]
  /** How many users caused it. */
  readonly people: number
  readonly count: number
}

export interface Rendered {
  readonly title: string
  /** Paragraphs. */
  readonly text: readonly string[]
}

/**
 * The texts of a notification. Texts of users cannot contain links or disguises: otherwise a notification could be used
 * for advertising.
 */
export function render(texts: Texts, shown: ShownNotification): Rendered {
  const actors = actorsOf(texts, shown)
  const common = { actors, people: Math.max(1, shown.people), count: shown.count }
  const values = (safe: (text: string) => string): TextValues => {
    const entries = Object.entries(shown.data).map(
      ([name, value]) => [name, written(texts, name, value, safe)] as const,
    )
    return { ...Object.fromEntries(entries), ...common }
  }
  const paragraphs = texts.find(`${shown.type}.text`, values(plainText)).split(/\n{2,}/)
  return {
    title: texts.find(`${shown.type}.title`, values(plainName)).trim(),
    text: paragraphs.map((text) => text.trim()).filter((text) => text !== ''),
  }
}

/** “Ada”, “Ada and Grace” or “Ada and 3 others”. */
function actorsOf(texts: Texts, { actors, people }: ShownNotification): string {
  const [first = '', second = ''] = actors.map((name) =>
    name === '' ? texts.say('notification.someone') : plainName(name),
  )
  if (people > 2) return texts.say('notification.others', { first, count: people - 1 })
  return people === 2 ? texts.say('notification.two', { first, second }) : first
}

/** `day` and `until` are points in time. */
function written(texts: Texts, name: string, value: string | number, safe: (text: string) => string): string | number {
  if (typeof value === 'number') return value
  if (name === 'day') return texts.day(Date.parse(value))
  return name === 'until' ? texts.time(Date.parse(value)) : safe(value)
}
