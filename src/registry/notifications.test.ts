import { expect, test } from 'vitest'
import { NOTIFICATION_KINDS } from '../core/notification.ts'
import { render } from '../domains/talk/notifications/render.ts'
import { LANGUAGES, rawTexts, textsFor } from '../language/texts.ts'
import { notificationTypes } from './notifications.ts'

test.each(LANGUAGES)('every notification has texts in %s that its data fills', (language) => {
  for (const { example, name } of notificationTypes.values()) {
    for (const [people, count] of [
      [1, 1],
      [2, 2],
      [4, 9],
    ] as const) {
      const actors = ['Ada', '', 'Grace', 'Alan'].slice(0, people)
      const told = { type: name, data: example as Record<string, string>, actors, people, count }
      const { text, title } = render(textsFor(language), told)
      expect(title, name).not.toBe('')
      for (const written of [title, ...text]) expect(written, name).not.toMatch(/[{}]|undefined/)
    }
  }
})

test('exactly the notifications with a page have the text of a link', () => {
  const types = [...notificationTypes.values()]
  const linked = types.filter(({ page }) => page !== undefined).map(({ name }) => `${name}.link`)
  const texts = Object.keys(rawTexts('en'))
  expect(texts.filter((key) => types.some(({ name }) => key === `${name}.link`)).toSorted()).toEqual(linked.toSorted())
})

test('no text is left over', () => {
  const types = [...notificationTypes.keys()]
  const left = Object.keys(rawTexts('en')).filter(
    (key) =>
      !/^(mail|notification|kind|unsubscribe|reportMails|billingPage|guestPage|invoice|payment|quote|socialReport)\./.test(
        key,
      ) && !types.includes(key.replace(/\.(title|text|link)$/, '')),
  )
  expect(left).toEqual([])
})

test('every kind of the settings has a notification', () => {
  const kinds = new Set([...notificationTypes.values()].map(({ kind }) => kind))
  expect(NOTIFICATION_KINDS.filter((kind) => !kinds.has(kind))).toEqual([])
})
