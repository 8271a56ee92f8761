/** Billing: cycles of subscriptions, and coupons. */
export const billing = [
  `
    create table billing_cycles (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      kind text not null,
      plan text not null,
      term text not null,
      extra_accounts integer not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      replaced_at timestamptz,
      net bigint not null,
      discount bigint not null,
      currency text not null,
      coupon_id uuid,
      payment_id uuid,
      quote jsonb,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint billing_cycles_length check (ends_at > starts_at)
    )`,
  'create unique index billing_cycles_start_key on billing_cycles (user_id, starts_at) where replaced_at is null',
  'create index billing_cycles_by_user on billing_cycles (user_id, id)',
  'create index billing_cycles_by_payment on billing_cycles (payment_id) where payment_id is not null',
  `
    create table coupons (
      id uuid primary key,
      code text not null,
      basis_points integer,
      amount bigint,
      currency text not null,
      cycles integer,
      plans text[] not null default '{}',
      max_uses integer,
      uses integer not null default 0,
      expires_at timestamptz,
      ended_at timestamptz,
      created_by uuid not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint coupons_off check ((basis_points is null) <> (amount is null)),
      constraint coupons_basis_points check (basis_points >= 1 and basis_points <= 10000),
      constraint coupons_amount check (amount > 0),
      constraint coupons_uses check (uses >= 0)
    )`,
  'create unique index coupons_code_key on coupons (lower(code))',
  `
    create table coupon_uses (
      coupon_id uuid not null references coupons (id) on delete cascade,
      user_id uuid not null references users (id) on delete cascade,
      status text not null,
      cycles_left integer,
      holds integer not null,
      held_until timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (coupon_id, user_id)
    )`,
  'create index coupon_uses_by_user on coupon_uses (user_id, coupon_id)',
  `
    create table trial_uses (
      digest text primary key,
      user_id uuid not null,
      kind text not null,
      created_at timestamptz not null
    )`,
  'create index trial_uses_by_user on trial_uses (user_id, digest)',
]
