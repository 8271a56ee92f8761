import { h, field, onSubmit } from './dom.js'
import { call } from './session.js'
import { countryName, t } from './texts.js'

/** Who invoices are for. The country and the VAT number decide the tax, so prices can change with them. */
export function profileForm({ data, etag }, again) {
  const kind = h('select', { name: 'kind' })
  for (const value of ['person', 'business']) {
    kind.append(h('option', { value, selected: data.kind === value }, t(`profile.${value}`)))
  }
  const hint = h('p.quiet', { id: 'country-name' })
  const country = field(t('profile.country'), {
    name: 'country',
    value: data.country ?? '',
    maxLength: 2,
    pattern: '[A-Za-z]{2}',
    autocomplete: 'country',
    'aria-describedby': 'country-name',
  })
  const typed = country.querySelector('input')
  const name = () => (hint.textContent = /^[a-z]{2}$/i.test(typed.value) ? countryName(typed.value.toUpperCase()) : '')
  typed.addEventListener('input', name)
  name()
  const error = h('p', { role: 'alert' })
  const form = h(
    'form',
    {},
    h('label', {}, t('profile.kind'), kind),
    field(t('profile.name'), { name: 'name', value: data.name, maxLength: 200, autocomplete: 'name' }),
    field(t('profile.street'), { name: 'street', value: data.street, maxLength: 200, autocomplete: 'street-address' }),
    field(t('profile.postalCode'), {
      name: 'postalCode',
      value: data.postalCode,
      maxLength: 20,
      autocomplete: 'postal-code',
    }),
    field(t('profile.city'), { name: 'city', value: data.city, maxLength: 100, autocomplete: 'address-level2' }),
    country,
    hint,
    field(t('profile.vatNumber'), {
      name: 'vatNumber',
      value: data.vatNumber ?? '',
      maxLength: 30,
      autocomplete: 'off',
    }),
    error,
    h('div.actions', {}, h('button', {}, t('profile.save'))),
  )
  onSubmit(form, async () => {
    const values = Object.fromEntries(new FormData(form))
    const body = {
      ...values,
      country: values.country === '' ? null : values.country.toUpperCase(),
      vatNumber: values.vatNumber.trim() === '' ? null : values.vatNumber.trim(),
    }
    // Another tab may have changed it.
    const reply = await call('PUT', '/api/billing/profile', { body, headers: { 'If-Match': etag } })
    if (!reply.ok) {
      error.textContent = reply.message
      return
    }
    await again(t('profile.saved'))
  })
  return [h('h3', {}, t('profile.title')), h('p.quiet', {}, t('profile.about')), form]
}
