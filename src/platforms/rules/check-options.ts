import { Type, type TObject } from 'typebox'
import { memoize } from '../../tools/memoize.ts'
import { sentence } from '../../tools/sentence.ts'
import { validator } from '../../core/validate.ts'
import { type Check } from './check.ts'
import { general } from './problem.ts'

const NONE = Type.Object({}, { additionalProperties: false })

/** Checks the options that only this platform has. */
export function checkOptions(check: Check): void {
  const { content, platform, problems, title } = check
  if (platform.options === undefined && Object.keys(content.options).length === 0) return
  const checked = validatorOf(platform.options ?? NONE)(content.options)
  if (checked.ok) return
  for (const { message, path } of checked.errors) {
    const name = path.split('/').slice(2).join('.')
    problems.push(
      general('options.invalid', 'error', {
        pointer: path,
        message:
          name === ''
            ? sentence(`The options for ${title} ${message}`)
            : sentence(`The option \`${name}\` for ${title} ${message}`),
        fix: 'Correct the option, or leave it out.',
      }),
    )
  }
}

// An option that the platform does not have is an error. It is not ignored silently.
const validatorOf = memoize((schema: TObject) =>
  validator(Type.Object(schema.properties, { additionalProperties: false }), '/options'),
)
