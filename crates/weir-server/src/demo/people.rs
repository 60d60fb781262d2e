//! The people of the demo. They are invented.

/// Given and family name.
const NAMES: [(&str, &str); 64] = [
    ("Ada", "Lindgren"),
    ("Amir", "Haddad"),
    ("Anja", "Keller"),
    ("Aoife", "Brennan"),
    ("Arjun", "Mehta"),
    ("Beatriz", "Rocha"),
    ("Bruno", "Castelli"),
    ("Chen", "Wei"),
    ("Clara", "Vogel"),
    ("Daan", "Visser"),
    ("Dilan", "Yilmaz"),
    ("Elena", "Marin"),
    ("Emeka", "Okafor"),
    ("Esther", "Nyambura"),
    ("Farah", "Rahimi"),
    ("Felix", "Brandt"),
    ("Freja", "Holm"),
    ("Gita", "Iyer"),
    ("Hana", "Sato"),
    ("Henrik", "Dahl"),
    ("Ines", "Moreau"),
    ("Isaac", "Cohen"),
    ("Ivana", "Petrovic"),
    ("Jae", "Kim"),
    ("Jonas", "Weber"),
    ("Joyce", "Mwangi"),
    ("Kaito", "Mori"),
    ("Karim", "Benali"),
    ("Katya", "Orlova"),
    ("Lars", "Nygaard"),
    ("Leila", "Farsi"),
    ("Liam", "Doyle"),
    ("Lucia", "Ferrer"),
    ("Maja", "Kowalska"),
    ("Marco", "Ricci"),
    ("Mei", "Tan"),
    ("Milan", "Novak"),
    ("Mina", "Park"),
    ("Nadia", "Aziz"),
    ("Nils", "Eriksson"),
    ("Noor", "Malik"),
    ("Olga", "Melnyk"),
    ("Omar", "Saleh"),
    ("Paula", "Santos"),
    ("Petra", "Horvat"),
    ("Priya", "Nair"),
    ("Quentin", "Dubois"),
    ("Rafael", "Ortiz"),
    ("Rosa", "Greco"),
    ("Ruth", "Adeyemi"),
    ("Sami", "Virtanen"),
    ("Sara", "Lund"),
    ("Selin", "Demir"),
    ("Siddharth", "Rao"),
    ("Sofia", "Ivanova"),
    ("Tariq", "Hassan"),
    ("Thea", "Berg"),
    ("Tomas", "Dvorak"),
    ("Uma", "Krishnan"),
    ("Viktor", "Balogh"),
    ("Wanjiru", "Kamau"),
    ("Yara", "Mansour"),
    ("Yusuf", "Kaya"),
    ("Zoe", "Papadakis"),
];

/// A person.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person {
    given: &'static str,
    family: &'static str,
}

impl Person {
    /// `Ada Lindgren`.
    pub(super) fn name(self) -> String {
        format!("{} {}", self.given, self.family)
    }

    /// `ada.lindgren`, as an id and before the `@` of an address.
    pub(super) fn id(self) -> String {
        format!("{}.{}", self.given, self.family).to_lowercase()
    }
}

/// Everybody, in alphabetical order.
pub(super) fn everybody() -> impl Iterator<Item = Person> {
    NAMES.iter().map(|(given, family)| Person { given, family })
}
